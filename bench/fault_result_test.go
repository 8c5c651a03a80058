package bench

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

const second = time.Second

func TestWhatFaultsCost(t *testing.T) {
	every := func(from, to, gap time.Duration) (ends []time.Duration) {
		for at := from; at < to; at += gap {
			ends = append(ends, at)
		}
		return ends
	}
	steady := every(0, 10*second, second/10)
	stalled := append(every(0, 4*second, second/10), every(6*second, 10*second, second/10)...) // nothing after 3.9 s and before 6 s
	for _, c := range []struct {
		sentence              string
		successes             map[uint32][]time.Duration
		next, pause, low, per float64 // from 4 s to 10 s; per second of 0 s to 4 s
	}{
		{"ten a second throughout", map[uint32][]time.Duration{0: steady}, 0, 100, 10, 10},
		{"a stall counts from the last success before the fault", map[uint32][]time.Duration{0: stalled}, 2000, 2100, 0, 10},
		{"of two objects one stalls", map[uint32][]time.Duration{0: steady, 1: stalled}, 0, 2100, 10, 20},
	} {
		next, pause := untilNext(c.successes, 4*second, 10*second), longestPause(c.successes, 4*second, 10*second)
		low, per := lowest(c.successes, 4*second, 10*second), perSecond(c.successes, 0, 4*second)
		if *next != c.next || *pause != c.pause || *low != c.low || *per != c.per {
			t.Errorf("%s: next %v, pause %v, lowest %v, per second %v; want %v, %v, %v, %v", c.sentence, *next, *pause, *low, *per, c.next, c.pause,
				c.low, c.per)
		}
	}
	ended := map[uint32][]time.Duration{0: every(0, 4*second, second/10)}
	if next, pause := untilNext(ended, 4*second, 10*second), longestPause(ended, 4*second, 10*second); next != nil || *pause != 6100 {
		t.Errorf("after the last success: next %v, pause %v, want none and 6100", next, *pause)
	}
	if pause, low := longestPause(nil, 4*second, 10*second), lowest(ended, 4*second, 4500*time.Millisecond); pause != nil || low != nil {
		t.Errorf("without a success the pause is %v, of half a second the lowest second is %v; want none of both", pause, low)
	}
}

func TestMoved(t *testing.T) {
	before := []place{{1, "a"}, {2, "a"}, {3, ""}, {4, "b"}, {5, "b"}}
	after := []place{{1, "b"}, {2, "a"}, {3, "b"}, {9, "a"}, {5, ""}}
	if n := moved(before, after); n == nil || *n != 1 {
		t.Errorf("moved = %v, want the one that was connected before and after, to different servers", n)
	}
	if n := moved([]place{{1, ""}}, []place{{1, ""}}); n != nil {
		t.Errorf("moved = %d where nobody tells, want none", *n)
	}
}

// A server that is started anew counts from zero again: what it has done is the sum of both lives.
func TestFiguresOfARestartedServer(t *testing.T) {
	var s serverSeries
	for i, packets := range []int64{100, 150, 250, 10, 40} {
		st := ensemble.ServerStats{Address: "a", Stats: ensemble.Stats{PacketsReceived: packets, PacketsSent: 2 * packets, Fsyncs: packets,
			FsyncTotal: time.Duration(packets) * time.Millisecond, Usage: &ensemble.Usage{CPU: time.Duration(packets) * time.Second}}}
		s.add(time.Unix(int64(i), 0), []ensemble.ServerStats{st}, true)
	}
	got := s.summary()
	for name, want := range map[string]float64{"packets_received": 190, "packets_sent": 380, "fsync_mean_ms": 1, "cpu_s": 190, "seconds": 4} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
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
		if err := owners(t.Context(), looker, "/cell", got); err != nil || got[one.ID()] != 2 || got[other.ID()] != 1 || len(got) != 2 {
			t.Errorf("owners = %v, %v; want 2 of %d and 1 of %d", got, err, one.ID(), other.ID())
		}
		c := &cell{orphans: got, crowd: crowd{losses: []loss{{one.ID(), 3 * second}, {77, 4 * second}, {other.ID(), 5 * second}}}}
		if a, b, none := c.orphansOf(2*second, 5*second), c.orphansOf(5*second, never), c.orphansOf(0, 3*second); a != 2 || b != 1 || none != 0 {
			t.Errorf("orphans %d, %d and %d; want 2, 1 and 0", a, b, none)
		}
		for _, s := range []zk.Session{one, other, looker} {
			s.Close()
		}
	})
}
