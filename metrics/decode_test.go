package metrics

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A Decoder, used again for payload after payload, yields the slots of the encoded histogram; damage is an error.
func TestDecoderReadsWhatEncodeWrites(t *testing.T) {
	var d Decoder
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 50 {
		h := NewHistogram()
		for range n * n {
			h.Record(time.Duration(r.ExpFloat64() * float64(time.Second) / float64(1+n)))
		}
		if n == 3 {
			h.Record(0)
			h.Record(HighestValue)
		}
		payload, err := h.Encode()
		if err != nil {
			t.Fatal(err)
		}
		want := map[[2]time.Duration]int64{}
		for slot, n := range h.Slots() {
			want[slot] = n
		}
		if err := d.Slots(payload, func(slot [2]time.Duration, n int64) {
			if want[slot] != n {
				t.Fatalf("%d in %v, want %d", n, slot, want[slot])
			}
			delete(want, slot)
		}); err != nil || len(want) > 0 {
			t.Fatalf("%v, missing %v", err, want)
		}
		for _, damaged := range [][]byte{nil, []byte("?"), payload[:len(payload)/2], []byte("AAAAAAAAAAAA")} {
			if err := d.Slots(damaged, func([2]time.Duration, int64) {}); err == nil {
				t.Fatalf("%q has slots", damaged)
			}
		}
	}
}
