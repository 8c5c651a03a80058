package metrics

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func all(*Sample, int64) bool { return true }

func someSamples(n int) (list []Sample) {
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		s := Sample{Op: Op(r.IntN(Ops)), Outcome: Outcome(r.IntN(Outcomes)), Session: r.Uint32(), Object: uint32(r.IntN(9)), Token: r.Int64(), Value: -r.Int64N(99), Zxid: r.Int64N(1 << 40)}
		s.Due = time.Duration(r.Int64N(1e9)) - 5e8
		s.Start = s.Due + time.Duration(r.Int64N(1e9))
		s.End = s.Start + time.Duration(r.Int64N(1e9)) - 1e3
		list = append(list, s)
	}
	return append(list, Sample{Session: Everybody, Token: math.MinInt64, Value: math.MaxInt64, End: math.MaxInt64})
}

func TestSamplesAreReadAsWritten(t *testing.T) {
	for _, want := range [][]Sample{nil, someSamples(1000)} {
		var file bytes.Buffer
		n, err := WriteSamples(&file, slices.Values(want), all)
		if err != nil || n != len(want) {
			t.Fatalf("WriteSamples() = %d, %v, want %d", n, err, len(want))
		}
		var got []Sample
		if err := ReadSamples(bytes.NewReader(file.Bytes()), func(s Sample) { got = append(got, s) }); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%d of %d samples are equal: %v", len(got), len(want), err)
		}
		for _, cut := range []int{0, 5, file.Len() / 2, file.Len() - 1} {
			if err := ReadSamples(bytes.NewReader(file.Bytes()[:cut]), func(Sample) {}); !errors.Is(err, ErrSamples) {
				t.Errorf("cut at %d of %d: %v, want %v", cut, file.Len(), err, ErrSamples)
			}
		}
	}
}

func TestSamplesMayBeLeftOut(t *testing.T) {
	var file bytes.Buffer
	n, err := WriteSamples(&file, slices.Values(someSamples(100000)), func(s *Sample, written int64) bool { return s.Op == Left || written < 1<<18 })
	if err != nil || n == 0 || n > 50000 || file.Len() > 1<<20 {
		t.Errorf("%d samples in %d bytes, %v", n, file.Len(), err)
	}
}

func FuzzReadSamples(f *testing.F) {
	var file bytes.Buffer
	WriteSamples(&file, slices.Values(someSamples(10)), all)
	f.Add(file.Bytes())
	f.Add([]byte("zkbench samples 1\n"))
	f.Fuzz(func(t *testing.T, text []byte) { ReadSamples(bytes.NewReader(text), func(Sample) {}) })
}
