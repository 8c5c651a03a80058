package load

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// A call is recent while it is in flight, and for a while after its end, by the monotonic clock.
func TestRecentCalls(t *testing.T) {
	for _, c := range []struct {
		sentence string
		pending  int64
		ended    time.Duration
		want     bool
	}{
		{"none was ever made", 0, 0, false}, {"one is under way", 1, 0, true}, {"one has just ended", 0, 9 * time.Second, true}, {"the last one ended long ago", 0, 7 * time.Second, false},
	} {
		var of calls
		of.begun.Store(3 + c.pending)
		of.ended.Store(3)
		of.last.Store(int64(c.ended))
		if got := of.recent(10 * time.Second); got != c.want {
			t.Errorf("%s: %v", c.sentence, got)
		}
	}
}

// Calls to which the servers have replied are counted, refusals too; those that were given up are not, but all that took long are kept. When the last one
// ended is known closely enough.
func TestCallsAreCounted(t *testing.T) {
	cell := &Cell{origin: metrics.NewOrigin(time.Now()), trips: metrics.NewLongTrips(nil)}
	of := calls{cell: cell}
	begun := cell.origin.Time(time.Second)
	for _, c := range []struct {
		took time.Duration
		err  error
	}{{time.Millisecond, nil}, {time.Second, nil}, {time.Millisecond, zk.ErrNoNode}, {time.Second, context.Canceled}, {time.Millisecond, zk.ErrSessionExpired}} {
		of.Begins()
		of.Ends(7, &zk.Call{Start: begun, End: begun.Add(c.took), Err: c.err})
	}
	kept := slices.Collect(cell.trips.All())
	want := []metrics.Trip{{Session: 7, Start: time.Second, End: 2 * time.Second}, {Session: 7, Start: time.Second, End: 2 * time.Second, Unanswered: true}}
	if n := of.answered(); n != 3 || of.begun.Load() != of.ended.Load() || !slices.Equal(kept, want) {
		t.Errorf("%d answered, %d of %d ended, kept %v; want 3, all, %v", n, of.ended.Load(), of.begun.Load(), kept, want)
	}
	if last := time.Duration(of.last.Load()); last != 2*time.Second {
		t.Errorf("the last call ended at %v, want 2s", last)
	}
	for i := range 10 {
		end := begun.Add(time.Second + time.Duration(i+1)*lastWithin/4)
		of.Ends(7, &zk.Call{Start: end, End: end})
		if behind := cell.origin.At(end) - time.Duration(of.last.Load()); behind < 0 || behind > lastWithin {
			t.Errorf("the end of the last call is known as %v too early", behind)
		}
	}
}

// Calls of several sessions that end at the same time do not hide the last of them; the race detector shows it if they do.
func TestTheLastOfManyCalls(t *testing.T) {
	cell := &Cell{origin: metrics.NewOrigin(time.Now()), trips: metrics.NewLongTrips(nil)}
	const sessions, rounds = 8, 2000
	for round := range rounds {
		of := calls{cell: cell}
		start := make(chan struct{})
		var work sync.WaitGroup
		for i := range sessions {
			end := cell.origin.Time(time.Duration(i+1) * 2 * lastWithin)
			work.Go(func() {
				<-start
				of.Ends(uint32(i), &zk.Call{Start: end, End: end})
			})
		}
		close(start)
		work.Wait()
		if behind := sessions*2*lastWithin - time.Duration(of.last.Load()); behind != 0 {
			t.Fatalf("round %d: the end of the last call is known as %v too early", round, behind)
		}
	}
}
