package metrics

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"
)

func TestHistoryKeepsEverySampleInOrderOfEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{0, 1, chunk - 1, chunk, 3*chunk + 5} {
		h := NewHistory(3)
		var want []Sample
		for range n {
			s := randomSample(r, time.Duration(r.IntN(n)))
			want = append(want, s)
			h.Shard(int(s.Session)).Record(s)
		}
		got := slices.Collect(h.All())
		if !slices.IsSortedFunc(got, func(a, b Sample) int { return order(&a, &b) }) {
			t.Fatalf("%d samples: All is not in the order of End", n)
		}
		if h.Len() != n || !sameMultiset(got, want) {
			t.Fatalf("All yields %d samples (Len %d), want the %d recorded", len(got), h.Len(), n)
		}
		if again := slices.Collect(h.All()); !slices.Equal(again, got) {
			t.Fatal("All yields another order the second time")
		}
		if n > 0 && h.Bytes() < int64(n)*int64(unsafe.Sizeof(Sample{})) {
			t.Fatalf("Bytes() = %d for %d samples", h.Bytes(), n)
		}
		for range h.All() {
			break // leaving early is allowed
		}
	}
	if size := unsafe.Sizeof(Sample{}); size > 64 {
		t.Errorf("a sample takes %d bytes, want at most 64", size)
	}
}

func sameMultiset(a, b []Sample) bool {
	count := map[Sample]int{}
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		count[s]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return len(a) == len(b)
}

func BenchmarkHistoryAll(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	samples := make([]Sample, 1_000_000)
	for i := range samples {
		samples[i] = randomSample(r, time.Duration(i)*10*time.Microsecond-time.Duration(r.ExpFloat64()*float64(time.Millisecond)))
	}
	for b.Loop() {
		b.StopTimer()
		h := NewHistory(2)
		for _, s := range samples {
			h.Shard(int(s.Session)).Record(s)
		}
		b.StartTimer()
		for range h.All() {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/sample")
}

func TestRawLogRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var want []Sample
	var file bytes.Buffer
	log := NewRawLog(&file)
	for op := range Op(Ops) {
		s := randomSample(r, time.Second)
		s.Op, s.Outcome, s.Token = op, Outcome(r.IntN(Outcomes)), r.Int64()-r.Int64()
		want = append(want, s)
		log.Record(s)
	}
	if err := log.Flush(); err != nil {
		t.Fatal(err)
	}
	var got []Sample
	for s, err := range ReadRawLog(&file) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s)
	}
	if !slices.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestRawLogTellsOfALostWrite(t *testing.T) {
	log := NewRawLog(fullDisk{})
	for range 10_000 {
		log.Record(Sample{Op: Acquire})
	}
	if err := log.Flush(); err == nil {
		t.Error("Flush() = nil, though nothing could be written")
	}
}

func TestReadRawLogRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"an empty file is not an empty log", "", "unexpected EOF"},
		{"another file", "{}\n", "line 1"},
		{"a missing field", rawHeader + "\nacquire,ok,1,2,3,4,5\n", "line 2: 7 fields"},
		{"an operation that does not exist", rawHeader + "\nseize,ok,1,2,3,4,5,6,7\n", `no operation "seize"`},
		{"a session that is no number", rawHeader + "\nacquire,ok,x,2,3,4,5,6,7\n", "line 2"},
		{"a time that is no number", rawHeader + "\nacquire,ok,1,2,3,4,5,6,7s\n", "line 2"},
	} {
		var last error
		for _, err := range ReadRawLog(strings.NewReader(tc.text)) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), tc.want) {
			t.Errorf("%s: ReadRawLog error %v, want one that says %q", tc.name, last, tc.want)
		}
	}
}

func FuzzReadRawLog(f *testing.F) {
	f.Add(rawHeader + "\nacquire,ok,1,2,3,4,5,6,7\n")
	f.Fuzz(func(t *testing.T, text string) {
		for s, err := range ReadRawLog(strings.NewReader(text)) {
			if err != nil {
				return
			}
			var b bytes.Buffer
			log := NewRawLog(&b)
			log.Record(s)
			if err := log.Flush(); err != nil {
				t.Fatal(err)
			}
			for back, err := range ReadRawLog(&b) {
				if err != nil || back != s {
					t.Fatalf("%v came back as %v, %v", s, back, err)
				}
			}
		}
	})
}
