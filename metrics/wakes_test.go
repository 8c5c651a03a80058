package metrics

import (
	"sync"
	"testing"
)

// An event belongs to the phase in which it came, and what becomes of it too, however late.
func TestWhatBecomesOfAnEventCountsInItsPhase(t *testing.T) {
	f := NewFanout(2)
	warm := f.Shard(0).Event(ByRelease)
	steady := f.Next()
	f.Shard(0).Useful(warm)
	f.Shard(0).Moved(warm)
	late, idle := f.Shard(1).Event(ByArrival), f.Shard(0).Event(ByOther)
	drain := f.Next()
	f.Shard(1).Useful(late)
	f.Shard(1).Moved(late)
	if steady != 1 || drain != 2 || warm != 0 || late != steady || idle != steady {
		t.Fatalf("phases %d, %d, %d, %d, %d", warm, steady, late, idle, drain)
	}
	for p, want := range map[Phase]Wakes{warm: {1, 1, 1}, steady: {2, 1, 1}, drain: {}} {
		if got := f.Wakes(p); got != want {
			t.Errorf("Wakes(%d) = %+v, want %+v", p, got, want)
		}
	}
	if got := f.Snapshot(); got.Useful != 2 || got.AllEvents() != 3 {
		t.Errorf("Snapshot() = %+v, want those of all phases", got)
	}
}

func TestPhasesAfterTheLastCountInIt(t *testing.T) {
	f := NewFanout(1)
	for range 10 {
		f.Next()
	}
	p := f.Shard(0).Event(ByOther)
	if got := f.Wakes(p); p != phases-1 || got.Events != 1 {
		t.Errorf("phase %d has %+v", p, got)
	}
}

// While sessions count, no reader sees more uses than events, whatever the phase changes to.
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
					p := s.Event(ByRelease)
					s.Useful(p)
					s.Moved(p)
				}
			}
		})
	}
	for range 3 {
		for range 2000 {
			for p := range Phase(phases) {
				if w := f.Wakes(p); w.Useful > w.Events || w.Moved > w.Events {
					t.Fatalf("phase %d: %+v", p, w)
				}
			}
		}
		f.Next()
	}
	close(stop)
	counting.Wait()
}
