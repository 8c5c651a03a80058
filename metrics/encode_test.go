package metrics

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The payload, once inflated, is byte for byte the library's.
func TestEncodeMatchesTheLibrary(t *testing.T) {
	plain := func(payload []byte) []byte {
		t.Helper()
		raw, err := base64.StdEncoding.DecodeString(string(payload))
		if err != nil {
			t.Fatal(err)
		}
		z, err := zlib.NewReader(bytes.NewReader(raw[8:]))
		if err != nil {
			t.Fatal(err)
		}
		p, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return append(raw[:4:4], p...)
	}
	r := rand.New(rand.NewPCG(7, 8))
	hs := []*Histogram{NewHistogram()}
	for range 30 {
		hs = append(hs, randomHistogram(r))
	}
	for _, h := range hs {
		ours, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		library, err := library(h).Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(plain(ours), plain(library)) {
			t.Fatalf("%d values: the payload differs from the library's", h.Count())
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	h := randomHistogram(r)
	for _, by := range []struct {
		name   string
		encode func() ([]byte, error)
	}{{"zkbench", h.Encode}, {"library", func() ([]byte, error) { return library(h).Encode(hdrhistogram.V2CompressedEncodingCookieBase) }}} {
		b.Run(by.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, err := by.encode()
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(len(p)), "bytes")
			}
		})
	}
}
