package load

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
)

// counting returns a server that has counted n of everything, at a time.
func counting(address string, at time.Duration, n int64) ensemble.ServerStats {
	return ensemble.ServerStats{Address: address, At: time.Unix(1, 0).Add(at), Stats: ensemble.Stats{State: "follower", PacketsReceived: n, PacketsSent: 2 * n,
		Requests: n, RequestTotal: time.Duration(2*n) * time.Millisecond, Fsyncs: n, FsyncTotal: time.Duration(n/2) * time.Millisecond, Flushes: n,
		FlushTotal: time.Duration(n) * time.Millisecond, Uptime: time.Hour + at, Outstanding: 3, Watches: 7, Usage: &ensemble.Usage{CPU: time.Duration(n) * time.Second, Start: 1}}}
}

func figure(t *testing.T, f results.Figures, name string, want float64) {
	t.Helper()
	if got, known := f.Get(name); !known || math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %v (known: %v), want %v", name, got, known, want)
	}
}

func unknown(t *testing.T, f results.Figures, names ...string) {
	t.Helper()
	for _, name := range names {
		if p, listed := f[name]; !listed || p != nil {
			t.Errorf("%s is %v (listed: %v), want null", name, p, listed)
		}
	}
}

// The figures of the steady phase extend from mark to mark, whatever the times of the polls in between.
func TestServerFiguresReachFromMarkToMark(t *testing.T) {
	var s serverSeries
	for _, p := range []struct {
		at    time.Duration
		n     int64
		stage pollStage
	}{{0, 10, polled}, {time.Second, 20, polled}, {1500 * time.Millisecond, 100, polledBefore}, {2 * time.Second, 150, polled}, {3 * time.Second, 300, polled},
		{4500 * time.Millisecond, 400, polledAfter}, {5 * time.Second, 900, polled}} {
		s.add([]ensemble.ServerStats{counting("a", p.at, p.n), counting("b", p.at, 2*p.n)}, p.stage)
	}
	got := s.summary()
	for name, want := range map[string]float64{"seconds": 3, "servers": 2, "packets_received": 900, "packets_sent": 1800, "cpu_s": 900, "requests": 900,
		"latency_mean_ms": 2, "fsyncs": 900, "log_flush_mean_ms": 1, "fsync_mean_low_ms": 0.5, "fsync_mean_high_ms": 1, "outstanding_max": 3, "watches_max": 14} {
		figure(t, got, name, want)
	}
	if notes := s.missing(3 * time.Second); len(notes) != 0 {
		t.Errorf("missing() = %q, want nothing", notes)
	}
}

// The figures of single servers: the CPUs of the one that led all the time and of the busiest one, the connections of the one with the most. A figure that
// one of them does not report is unknown.
func TestWhatSingleServersTell(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(*ensemble.ServerStats) // applied to the last answer of the leader
		leader, max any                         // CPUs
		open, most  any                         // connections
	}{
		"all is told":           {func(*ensemble.ServerStats) {}, 10.0, 40.0, 13.0, 8.0},
		"the leader changed":    {func(st *ensemble.ServerStats) { st.State = "follower" }, nil, 40.0, 13.0, 8.0},
		"no CPU is known":       {func(st *ensemble.ServerStats) { st.Usage = nil }, nil, nil, 13.0, 8.0},
		"no connections known":  {func(st *ensemble.ServerStats) { st.Missing = []string{"zk_num_alive_connections"} }, 10.0, 40.0, nil, nil},
		"connections have gone": {func(st *ensemble.ServerStats) { st.Connections = 1 }, 10.0, 40.0, 9.0, 8.0},
	} {
		var s serverSeries
		for i, stage := range []pollStage{polled, polledBefore, polled, polledAfter, polled} {
			a, b := counting("a", time.Duration(i)*time.Second, int64(10*i)), counting("b", time.Duration(i)*time.Second, int64(40*i))
			a.State, a.Connections, b.Connections = "leader", 5, 8
			if stage == polledAfter {
				c.change(&a)
			}
			s.add([]ensemble.ServerStats{a, b}, stage)
		}
		got := s.summary()
		for figure, want := range map[string]any{"leader_cpus": c.leader, "cpus_max": c.max, "connections": c.open, "connections_max": c.most} {
			v, listed := got[figure]
			if !listed || (v == nil) != (want == nil) || v != nil && *v != want {
				t.Errorf("%s: %s is %v (listed: %v), want %v", name, figure, v, listed, want)
			}
		}
	}
}

// The figures of a server that is silent at a mark cover less time, and a note says so; a server that reports nothing does not count as zero.
func TestServerFiguresOfASilentServer(t *testing.T) {
	var s serverSeries
	silent := ensemble.ServerStats{Address: "a", Err: ensemble.ErrUnreachable}
	s.add([]ensemble.ServerStats{counting("a", 0, 10), counting("b", 0, 10)}, polledBefore)
	s.add([]ensemble.ServerStats{counting("a", time.Second, 30), counting("b", time.Second, 30)}, polled)
	figures, _ := s.add([]ensemble.ServerStats{silent, counting("b", 4*time.Second, 90)}, polledAfter)
	if f, listed := figures["a"]; f != nil || !listed {
		t.Errorf("the silent server's figures are %v (listed: %v), want null", f, listed)
	}
	got := s.summary()
	figure(t, got, "seconds", 1)
	figure(t, got, "packets_received", 100)
	notes := strings.Join(s.missing(4*time.Second), "\n")
	if !strings.Contains(notes, "server a failed to report its figures 1 of 3 times") || !strings.Contains(notes, "figures of server a cover 1 s of the steady phase's 4 s") {
		t.Errorf("missing() = %q", notes)
	}
	var never serverSeries
	for _, stage := range []pollStage{polledBefore, polled, polledAfter} {
		never.add([]ensemble.ServerStats{silent}, stage)
	}
	if got := never.summary(); got != nil {
		t.Errorf("summary() where no server told = %v, want nil", got)
	}
}

// A figure missing from mntr is null, and so are the means that need it, in the intervals and in the summary.
func TestServerFiguresThatMntrLacks(t *testing.T) {
	var s serverSeries
	var line results.Figures
	for i, stage := range []pollStage{polledBefore, polledAfter} {
		st := counting("a", time.Duration(i)*time.Second, int64(10+i))
		st.Usage = nil
		st.Missing = []string{"zk_watch_count", "zk_cnt_fsynctime", "zk_sum_fsynctime", "zk_cnt_sync_processor_queue_flush_time_ms", "zk_packets_sent", "zk_max_latency"}
		figures, _ := s.add([]ensemble.ServerStats{st}, stage)
		line = figures["a"]
	}
	unknown(t, line, "watches", "fsyncs", "fsync_mean_low_ms", "fsync_mean_high_ms", "log_flush_mean_ms", "packets_sent", "cpu_s", "rss_mib", "latency_max_ms")
	unknown(t, s.summary(), "watches_max", "fsyncs", "fsync_mean_low_ms", "fsync_mean_high_ms", "log_flush_mean_ms", "packets_sent", "cpu_s")
	figure(t, line, "packets_received", 1)
	figure(t, line, "latency_mean_ms", 2)
}

// Of two polls that overlap, the one that was answered first may be read last: that is neither a server that reset its counters nor a lost leader.
func TestAnswersThatOverlap(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1, 0).Add(time.Duration(s * float64(time.Second))) }
	answer := func(asked, reported, read float64, n int64) ensemble.ServerStats {
		st := counting("a", time.Duration(reported*float64(time.Second)), n)
		st.State, st.Asked, st.At = "leader", at(asked), at(read)
		return st
	}
	var s serverSeries
	for i, st := range []ensemble.ServerStats{answer(0, 0, 0.1, 1000), answer(1, 1.2, 1.3, 1100), answer(0.9, 0.95, 1.4, 1090), answer(2, 2.1, 2.2, 1200)} {
		stage := map[int]pollStage{0: polledBefore, 3: polledAfter}[i]
		s.add([]ensemble.ServerStats{st}, stage)
		s.follow(st.At, []ensemble.ServerStats{st}, func() []faults.Place { return nil })
	}
	if notes, lost := s.missing(2*time.Second), s.outages(); len(notes) != 0 || len(lost) != 0 {
		t.Errorf("notes %q, leaders lost %+v", notes, lost)
	}
	figure(t, s.summary(), "packets_received", 200)
	figure(t, s.summary(), "seconds", 2.1)
	again := answer(3, 0.5, 3.1, 20) // asked later: it has restarted
	s.add([]ensemble.ServerStats{again}, polled)
	s.follow(again.At, []ensemble.ServerStats{again}, func() []faults.Place { return nil })
	if lost := s.outages(); len(lost) != 1 {
		t.Errorf("leaders lost %+v, want one", lost)
	}
}

// A server that is restarted, or that lost an election, counts from zero again.
func TestServerFiguresCountedAnew(t *testing.T) {
	var s serverSeries
	restarted := counting("a", 3*time.Second, 10) // of another process
	restarted.Uptime, restarted.Usage.Start = time.Second, 2
	elected := counting("a", 4*time.Second, 400) // the same process serves again: its packets count from zero, and have exceeded the old count
	elected.Uptime, elected.Usage.Start = time.Second/2, 2
	for i, st := range []ensemble.ServerStats{counting("a", 0, 100), counting("a", time.Second, 150), counting("a", 2*time.Second, 250), restarted, elected} {
		stage := polled
		switch i {
		case 0:
			stage = polledBefore
		case 4:
			stage = polledAfter
		}
		s.add([]ensemble.ServerStats{st}, stage)
	}
	got := s.summary()
	figure(t, got, "packets_received", 150+10+400)
	figure(t, got, "requests", 150+10+390)
	figure(t, got, "cpu_s", 150+10+390)
	if notes := s.missing(4 * time.Second); len(notes) != 1 || !strings.Contains(notes[0], "reset its counters twice") {
		t.Errorf("missing() = %q, want that it reset its counters twice", notes)
	}
}

// A server that counts its outstanding requests without a lock occasionally reports -1, which is not a count.
func TestANegativeGaugeIsUnknown(t *testing.T) {
	f := results.Figures{}
	st := counting("a", 0, 3)
	st.Outstanding, st.Watches = -1, 3
	gauges(f, st)
	if _, known := f.Get("outstanding"); known {
		t.Errorf("figures are %v, want outstanding unknown", f)
	}
	if n, known := f.Get("watches"); !known || n != 3 {
		t.Errorf("watches are %v (%v), want 3", n, known)
	}
}

// The queues of a leader to each of its learners are added up; a follower has none, and an old server reports nothing.
func TestTheQueuesToLearners(t *testing.T) {
	at := func(second int64, all map[string]float64) *ensemble.ServerStats {
		return &ensemble.ServerStats{At: time.Unix(second, 0), Stats: ensemble.Stats{Values: all}}
	}
	const cnt, sum, modern = "zk_cnt_%d_learner_handler_qp_size", "zk_sum_%d_learner_handler_qp_size", "zk_cnt_quorum_ack_latency"
	before := map[string]float64{modern: 5, fmt.Sprintf(cnt, 1): 10, fmt.Sprintf(sum, 1): 100}
	after := map[string]float64{modern: 9, fmt.Sprintf(cnt, 1): 14, fmt.Sprintf(sum, 1): 108, fmt.Sprintf(cnt, 3): 4, fmt.Sprintf(sum, 3): 32}
	figure(t, inInterval(at(1, before), *at(2, after)), "learner_queue_mean", 5)
	follower := map[string]float64{modern: 0}
	unknown(t, inInterval(at(1, follower), *at(2, follower)), "learner_queue_mean")
	if v, known := between(*at(1, follower), *at(2, follower)).Get("learner_samples"); !known || v != 0 { // so the sum with the leader's is known
		t.Errorf("samples of a follower: %v (known: %v), want 0", v, known)
	}
	if _, known := between(*at(1, nil), *at(2, nil)).Get("learner_samples"); known {
		t.Error("an old server tells of its queues")
	}
}

// An internally sampled figure is a mean over the interval; a process that has restarted counts from zero, and the figure of a server that does not report it
// is nil.
func TestWhatServersSampleInside(t *testing.T) {
	at := func(count, sum, snapshots float64) ensemble.ServerStats {
		st := ensemble.ServerStats{At: time.Unix(int64(count), 0)}
		st.Values = map[string]float64{"zk_cnt_sync_processor_queue_size": count, "zk_sum_sync_processor_queue_size": sum,
			"zk_cnt_snapshottime": snapshots, "zk_sum_snapshottime": 40 * snapshots}
		return st
	}
	for _, test := range []struct {
		before, after               ensemble.ServerStats
		queue, snapshots, snapshotM float64
	}{
		{at(10, 10, 1), at(14, 30, 3), 5, 2, 80},
		{at(10, 10, 3), at(4, 8, 1), 2, 1, 40},
	} {
		f := inInterval(&test.before, test.after)
		queue, _ := f.Get("sync_queue_mean")
		n, _ := f.Get("snapshots")
		ms, _ := f.Get("snapshot_ms")
		if queue != test.queue || n != test.snapshots || ms != test.snapshotM {
			t.Errorf("queue %v, %v snapshots in %v ms, want %+v", queue, n, ms, test)
		}
		for _, name := range []string{"prep_queue_mean", "quorum_ack_mean_ms", "jvm_pause_ms"} {
			if v, some := f[name]; !some || v != nil {
				t.Errorf("%s = %v of a server that does not tell, want nil", name, v)
			}
		}
		if _, some := f["sync_samples"]; some {
			t.Errorf("%v has what the mean is made of", f)
		}
	}
}
