package outcome

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestWhatFaultsCost(t *testing.T) {
	every := func(from, to, gap time.Duration) (ends []time.Duration) {
		for at := from; at < to; at += gap {
			ends = append(ends, at)
		}
		return ends
	}
	steady := every(0, 10*time.Second, time.Second/10)
	stalled := append(every(0, 4*time.Second, time.Second/10), every(6*time.Second, 10*time.Second, time.Second/10)...) // nothing between 3.9 s and 6 s
	for _, c := range []struct {
		sentence              string
		successes             map[uint32][]time.Duration
		next, pause, low, per float64 // from 4 s to 10 s; per: rate from 0 s to 4 s
	}{
		{"ten a time.Second throughout", map[uint32][]time.Duration{0: steady}, 0, 100, 10, 10},
		{"a stall counts from the last success before the fault", map[uint32][]time.Duration{0: stalled}, 2000, 2100, 0, 10},
		{"of two objects one stalls", map[uint32][]time.Duration{0: steady, 1: stalled}, 0, 2100, 10, 20},
	} {
		next, pause := untilNext(c.successes, 4*time.Second, 10*time.Second), longestPause(c.successes, 4*time.Second, 10*time.Second)
		low, per := lowest(c.successes, 4*time.Second, 10*time.Second), perSecond(c.successes, 0, 4*time.Second)
		if *next != c.next || *pause != c.pause || *low != c.low || *per != c.per {
			t.Errorf("%s: next %v, pause %v, lowest %v, per time.Second %v; want %v, %v, %v, %v", c.sentence, *next, *pause, *low, *per, c.next, c.pause,
				c.low, c.per)
		}
	}
	ended := map[uint32][]time.Duration{0: every(0, 4*time.Second, time.Second/10)}
	if next, pause := untilNext(ended, 4*time.Second, 10*time.Second), longestPause(ended, 4*time.Second, 10*time.Second); next != nil || *pause != 6100 {
		t.Errorf("after the last success: next %v, pause %v, want none and 6100", next, *pause)
	}
	if pause, low := longestPause(nil, 4*time.Second, 10*time.Second), lowest(ended, 4*time.Second, 4500*time.Millisecond); pause != nil || low != nil {
		t.Errorf("without a success the pause is %v, of half a time.Second the lowest time.Second is %v; want none of both", pause, low)
	}
}

func TestMoved(t *testing.T) {
	at := func(id int64, server string) faults.Place { return faults.Place{ID: id, Server: server} }
	before := []faults.Place{at(1, "a"), at(2, "a"), at(3, ""), at(4, "b"), at(5, "b")}
	after := []faults.Place{at(1, "b"), at(2, "a"), at(3, "b"), at(9, "a"), at(5, "")}
	if n := moved(before, after); n == nil || *n != 1 {
		t.Errorf("moved = %v, want the one that was connected before and after, to different servers", n)
	}
	if n := moved([]faults.Place{at(1, "")}, []faults.Place{at(1, "")}); n != nil {
		t.Errorf("moved = %d where nobody tells, want none", *n)
	}
}

func TestOrphansByTheirSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		one, other, looker := ens.Dial(), ens.Dial(), ens.Dial()
		create := func(s zk.Session, path string, mode zk.Mode) {
			if _, err := s.Create(t.Context(), path, nil, mode); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{"/cell", "/cell/lock-0", "/cell/queue", "/cell/queue/item"} {
			create(one, path, zk.Persistent)
		}
		create(one, "/cell/lock-0/a", zk.Ephemeral)
		create(one, "/cell/queue/b", zk.Ephemeral)
		create(other, "/cell/lock-0/c", zk.EphemeralSequential)
		got := map[int64]int{}
		if err := zk.Ephemerals(t.Context(), looker, "/cell", nil, func(st zk.Stat) { got[st.EphemeralOwner]++ }); err != nil || got[one.ID()] != 2 || got[other.ID()] != 1 || len(got) != 2 {
			t.Errorf("ephemerals by owner = %v, %v; want 2 of %d and 1 of %d", got, err, one.ID(), other.ID())
		}
		c := &Cell{Recording: Recording{Orphans: got, Links: Links{Silent: true}, Losses: []Loss{{one.ID(), 3 * time.Second}, {77, 4 * time.Second}, {other.ID(), 5 * time.Second}}}}
		for i, want := range []int{0, 2, 1} {
			var r results.Fault
			c.sessionsOf([]faults.Fault{{At: 0}, {At: 3 * time.Second}, {At: 5 * time.Second}}, i, Never, &r)
			if r.Orphans != want {
				t.Errorf("fault %d left %d orphans, want %d", i, r.Orphans, want)
			}
		}
		injected := []faults.Fault{{At: 0}, {At: 3 * time.Second, Ended: other.ID()}, {At: 4 * time.Second}} // other learned of its end after the next fault
		for i, want := range []int{0, 2, 1} {
			var r results.Fault
			if c.sessionsOf(injected, i, Never, &r); r.SessionsExpired != want {
				t.Errorf("%d sessions expired by fault %d, want %d", r.SessionsExpired, i, want)
			}
		}
		for _, s := range []zk.Session{one, other, looker} {
			s.Close()
		}
	})
}

// The successes in a window are all that its figures need of a history.
func TestWindowsTellWhatTheWholeHistoryTells(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		var h []metrics.Sample
		whole := map[uint32][]time.Duration{}
		for at := time.Duration(0); at < 20*time.Second; at += time.Duration(r.Int64N(int64(time.Second))) {
			s := metrics.Sample{Op: []metrics.Op{metrics.Acquire, metrics.Release}[r.IntN(2)], Object: r.Uint32N(3), End: at}
			if h = append(h, s); s.Op == metrics.Acquire {
				whole[s.Object] = append(whole[s.Object], at)
			}
		}
		done, stop := newSuccesses(slices.Values(h), []metrics.Op{metrics.Acquire})
		for from := time.Duration(0); from < 20*time.Second; {
			at := from + time.Duration(r.Int64N(int64(5*time.Second)))
			to := at + time.Duration(r.Int64N(int64(5*time.Second)))
			got := done.window(from, to)
			figures := func(s map[uint32][]time.Duration) string {
				text := ""
				for _, v := range []*float64{untilNext(s, at, to), longestPause(s, at, to), longestPause(s, from, at), perSecond(s, from, at), lowest(s, at, to)} {
					if v == nil {
						text += "none "
						continue
					}
					text += fmt.Sprint(*v, " ")
				}
				return text
			}
			if a, b := figures(got), figures(whole); a != b {
				t.Fatalf("seed %d, %v %v %v: %s, want %s", seed, from, at, to, a, b)
			}
			from += time.Duration(r.Int64N(int64(at - from + 1)))
			from++
		}
		stop()
	}
}
