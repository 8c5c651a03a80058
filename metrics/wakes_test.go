package metrics

import (
	"sync"
	"testing"
	"time"
)

// Counts belong to the phase of their time, and the effect of an event to the phase of the event, however late it is.
func TestCountsBelongToTheirPhase(t *testing.T) {
	f := NewFanout(2)
	f.SetSteady(Steady{From: 10, To: 20})
	count := func(at time.Duration) {
		f.Shard(0).Event(at)
		f.Shard(1).Request(at, 3)
		f.Shard(0).List(at, 2, 20)
		f.Shard(1).Read(at, 7)
		f.Shard(1).FailedWrite(at)
	}
	for _, at := range []time.Duration{20, 9, 0, 19, 10, 15, 30} { // in any order
		count(at)
	}
	f.Shard(1).Useful(InWarmup)
	f.Shard(1).Moved(InSteady)
	f.Shard(0).Cause(InSteady, ByArrival)
	f.Shard(0).Cause(InSteady, ByOther) // no effect: ByOther is the remainder
	for p, n := range map[Phase]int64{InWarmup: 2, InSteady: 3, InDrain: 2} {
		want := FanoutCounts{Lists: n, Names: 2 * n, Bytes: 20 * n, ReadBytes: 7 * n, FailedWrites: n}
		want.Events[ByOther], want.Requests[3] = n, n
		switch p {
		case InWarmup:
			want.Useful = 1
		case InSteady:
			want.Moved, want.Events[ByArrival], want.Events[ByOther] = 1, 1, n-1
		}
		if got := f.Counts(p); got != want {
			t.Errorf("phase %d: %+v, want %+v", p, got, want)
		}
	}
	if got := f.Snapshot(); got.AllEvents() != 7 || got.Requests[3] != 7 || got.Useful != 1 || got.Moved != 1 {
		t.Errorf("Snapshot() = %+v, want all phases", got)
	}
}

// While sessions count, no reader sees more useful events than events, across changes of phase.
func TestNoMoreUsesThanEvents(t *testing.T) {
	f := NewFanout(2)
	stop := make(chan struct{})
	var counting sync.WaitGroup
	for i := range 4 {
		counting.Go(func() {
			for s := f.Shard(i); ; {
				select {
				case <-stop:
					return
				default:
					p := s.PhaseOf(5)
					s.counts[p].events.Add(1)
					s.Cause(p, ByRelease)
					s.Useful(p)
					s.Moved(p)
				}
			}
		})
	}
	for i := range 3 {
		for range 2000 {
			for p := range phases {
				if n := f.Counts(p); n.Useful > n.AllEvents() || n.Moved > n.AllEvents() || n.Events[ByOther] < 0 {
					t.Fatalf("phase %d: %+v", p, n)
				}
			}
		}
		f.SetSteady(Steady{From: time.Duration(4 * i), To: 20})
	}
	close(stop)
	counting.Wait()
}
