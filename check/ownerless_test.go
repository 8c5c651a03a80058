package check

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// ownerless returns only the figures.
func ownerless(history iter.Seq[metrics.Sample], room *spill.Room, permits int, from, to time.Duration) Ownerless {
	return OwnershipOf(history, room, permits, from, to, 0).Ownerless
}

func TestOwnerless(t *testing.T) {
	a, da := acquire('a', 0, 10, 0), release('a', 60, 62)
	for _, tt := range []struct {
		why     string
		history history
		permits int
		from    int
		want    Ownerless
	}{
		{"nobody asked", nil, 0, 0, Ownerless{}},
		{"acquiring a free lock counts, holding it does not", history{a, da}, 0, 0, Ownerless{1, 0.1, 0.1}},
		{"free, and nobody waits", history{a, da, acquire('b', 80, 90, 0)}, 0, 20, Ownerless{1, 0.125, 0.125}},
		{"a hand-off, from the issue of the release to the grant", history{a, da, acquire('b', 5, 70, 0)}, 0, 20, Ownerless{1, 0.125, 0.125}},
		{"two concurrent waits count once", history{a, da, acquire('b', 5, 70, 0), with(metrics.Unfinished, acquire('c', 6, 99, 0))}, 0, 20, Ownerless{1, 0.125, 0.125}},
		{"a wait that times out counts", history{a, with(metrics.Lost, release('a', 60, 60)), with(metrics.Timeout, acquire('b', 5, 90, 0))}, 0, 20, Ownerless{1, 0.375, 0.375}},
		{"a failed attempt is no evidence", history{a, da, with(metrics.Failed, acquire('b', 5, 90, 0))}, 0, 20, Ownerless{}},
		{"readers count as owners, one after the other", history{reads('r', 0, 10, 0), readDone('r', 50, 51), reads('s', 0, 40, 0), readDone('s', 80, 81), acquire('w', 12, 84, 0)}, 0, 20,
			Ownerless{1, 0.05, 0.05}},
		{"the mean of two locks, and the worse", history{a, da, acquire('b', 5, 70, 0), on(1, acquire('c', 0, 99, 0))}, 0, 20, Ownerless{2, (10 + 79) / 80.0 / 2, 79 / 80.0}},
		{"a lock without waiters in the interval does not count", history{a, da, acquire('b', 5, 70, 0), on(1, acquire('c', 0, 9, 0))}, 0, 20, Ownerless{1, 0.125, 0.125}},
		{"a permit is free while somebody waits", history{a, da, acquire('b', 0, 30, 0), release('b', 40, 41), acquire('c', 20, 50, 0)}, 2, 20, Ownerless{1, 0.25, 0.25}},
		{"all permits are taken", history{a, da, acquire('b', 0, 10, 0), release('b', 60, 61), acquire('c', 20, 60, 0)}, 2, 20, Ownerless{1, 0, 0}},
		{"an interval without length", history{a, da}, 0, 100, Ownerless{}},
	} {
		got := ownerless(slices.Values(tt.history), nil, tt.permits, time.Duration(tt.from)*ms, 100*ms)
		if got.Objects != tt.want.Objects || math.Abs(got.Share-tt.want.Share) > 1e-9 || math.Abs(got.Worst-tt.want.Worst) > 1e-9 {
			t.Errorf("%s: ownerless = %+v, want %+v", tt.why, got, tt.want)
		}
	}
}

// OwnerlessOf agrees, on random histories, with a count over each millisecond of each object.
func TestOwnerlessAgreesWithItsDefinition(t *testing.T) {
	const length, from, to = 60, 10, 50
	r := rand.New(rand.NewPCG(3, 0))
	for range 2000 {
		permits := r.IntN(3)
		var h history
		for session := range byte(4) {
			object := uint32(r.IntN(2))
			for now := r.IntN(10); now < length; {
				asked := now
				now += r.IntN(15)
				if r.IntN(5) == 0 {
					h = append(h, on(object, with(metrics.Timeout, acquire(session, asked, now, 0))))
					continue
				}
				held := now
				now += r.IntN(15)
				if r.IntN(2) == 0 || permits > 0 {
					h = append(h, on(object, acquire(session, asked, held, 0)), on(object, release(session, now, now+1)))
				} else {
					h = append(h, on(object, reads(session, asked, held, 0)), on(object, readDone(session, now, now+1)))
				}
				now += 1 + r.IntN(10)
			}
		}
		want, sum, objects := Ownerless{}, 0, 0
		for object := range uint32(2) {
			free, asked := 0, false
			for at := from; at < to; at++ {
				waits, owners := 0, 0
				for i, s := range h {
					switch start, end := int(s.Start/ms), int(s.End/ms); {
					case s.Object != object:
					case (s.Op == metrics.Acquire || s.Op == metrics.ReadAcquire) && start <= at && at < end:
						waits++
					case (s.Op == metrics.Release || s.Op == metrics.ReadRelease) && int(h[i-1].End/ms) <= at && at < start:
						owners++
					}
				}
				asked = asked || waits > 0
				if waits > 0 && owners < max(permits, 1) {
					free++
				}
			}
			if asked {
				objects++
				sum += free
				want.Worst = max(want.Worst, float64(free)/(to-from))
			}
		}
		if want.Objects = objects; objects > 0 {
			want.Share = float64(sum) / (to - from) / float64(objects)
		}
		r.Shuffle(len(h), func(i, j int) { h[i], h[j] = h[j], h[i] })
		got := ownerless(slices.Values(h), nil, permits, from*ms, to*ms)
		if got.Objects != want.Objects || math.Abs(got.Share-want.Share) > 1e-9 || math.Abs(got.Worst-want.Worst) > 1e-9 {
			t.Fatalf("ownerless = %+v, want %+v, of %d permits and %v", got, want, permits, h)
		}
	}
}
