package outcome

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// Whatever used the machine is blamed: never the generator for what others did.
func TestWhoIsAccusedOfLateTimers(t *testing.T) {
	usage := func(cpu time.Duration) []*ensemble.Usage { return []*ensemble.Usage{{CPU: cpu, Start: 1}, nil} }
	for _, c := range []struct {
		sentence                   string
		own, servers, stolen, idle time.Duration // of 20 s of CPU time: two CPUs for ten seconds
		late                       time.Duration
		zkbench                    bool
		says                       string // "" if nothing is blamed
	}{
		{"timers in time", time.Second, 2 * time.Second, 0, time.Second, time.Millisecond, false, ""},
		{"others kept the machine busy", time.Second, 3 * time.Second, 0, time.Second, 40 * time.Millisecond, false, "busy with other processes"},
		{"the servers kept it busy", time.Second, 14 * time.Second, 0, time.Second, 40 * time.Millisecond, false, "busy with the servers"},
		{"the host took it", time.Second, 2 * time.Second, 14 * time.Second, time.Second, 40 * time.Millisecond, false, "host of this virtual machine"},
		{"nobody kept it busy", time.Second, time.Second, 0, 15 * time.Second, 40 * time.Millisecond, false, "though not busy"},
		{"zkbench used most", 12 * time.Second, 3 * time.Second, 0, time.Second, 40 * time.Millisecond, true, "zkbench used 60 % of the CPU time"},
		{"zkbench used nearly all, its timers in time", 18 * time.Second, time.Second, 0, 0, time.Millisecond, true, "90 % of the CPUs"},
	} {
		before := MachineMark{Machine: metrics.Machine{CPUs: 2, Idle: time.Second, Waiting: time.Second, Asked: time.Unix(1, 0)}, Servers: usage(time.Second)}
		after := MachineMark{Machine: metrics.Machine{CPUs: 2, Stolen: c.stolen, Idle: time.Second + c.idle, Waiting: 9 * time.Second, Answered: time.Unix(11, 0)},
			Servers: usage(time.Second + c.servers)}
		m := MachineBetween(before, after, c.own)
		if sum := m.Generator + *m.Servers + m.Others + m.Stolen + m.Idle; math.Abs(sum-20) > 1e-9 || *m.Waiting != 0.8 {
			t.Errorf("%s: the parts sum up to %v of 20 s; %v of the time a thread waited", c.sentence, sum, *m.Waiting)
		}
		g := results.Generator{CPUShare: c.own.Seconds() / 20}
		suspect(&g, m, 1, 100*time.Millisecond, c.late)
		if g.Saturated != c.zkbench || g.Late != (c.says != "" && !c.zkbench) || !strings.Contains(g.SaturatedReason+g.LateReason, c.says) {
			t.Errorf("%s: saturated %v %q, late %v %q; want %q", c.sentence, g.Saturated, g.SaturatedReason, g.Late, g.LateReason, c.says)
		}
	}
	g := results.Generator{CPUShare: 0.05}
	if suspect(&g, nil, 1, 100*time.Millisecond, 40*time.Millisecond); g.Saturated || !g.Late {
		t.Errorf("where the system does not tell: %+v, want that timers were late, and zkbench not accused", g)
	}
	if suspect(&g, nil, 1, 0, 40*time.Millisecond); strings.Contains(g.LateReason, "response") {
		t.Errorf("where nothing was served: %q names a response", g.LateReason)
	}
}

// A generator that uses all it may use has limited the cell, however many CPUs are idle.
func TestAStarvedGeneratorIsAccused(t *testing.T) {
	for _, c := range []struct {
		share, allowed float64
		want           string // "" if it is not blamed
	}{
		{0.48, 0.5, "it used 48 % of the CPUs, and may use 50 % (GOMAXPROCS)"},
		{0.48, 1, ""},
		{0.30, 0.5, ""},
		{0.86, 1, "it used 86 % of the CPUs"},
	} {
		g := results.Generator{CPUShare: c.share}
		suspect(&g, nil, c.allowed, 100*time.Millisecond, time.Millisecond)
		if g.Saturated != (c.want != "") || g.SaturatedReason != c.want {
			t.Errorf("%v of the CPUs, and %v allowed: saturated %v %q, want %q", c.share, c.allowed, g.Saturated, g.SaturatedReason, c.want)
		}
	}
}

// The usage of servers that cannot be observed counts as other usage, and is not zero.
func TestServersThatRunElsewhereAreUnknown(t *testing.T) {
	from, to := metrics.Machine{Asked: time.Unix(1, 0)}, metrics.Machine{Answered: time.Unix(2, 0)}
	none := []*ensemble.Usage{nil, nil}
	if m := MachineBetween(MachineMark{Machine: from, Servers: none}, MachineMark{Machine: to, Servers: none}, 0); m.Servers != nil {
		t.Errorf("servers' CPU time is %v, want null", *m.Servers)
	}
	if m := MachineBetween(MachineMark{Machine: from}, MachineMark{Machine: to}, 0); m.Servers != nil {
		t.Errorf("servers' CPU time is %v, want null", *m.Servers)
	}
	restarted := MachineMark{Machine: to, Servers: []*ensemble.Usage{{CPU: 3 * time.Second, Start: 2}}}
	if m := MachineBetween(MachineMark{Machine: from, Servers: []*ensemble.Usage{{CPU: 9 * time.Second, Start: 1}}}, restarted, 0); *m.Servers != 3 {
		t.Errorf("a restarted server used %v s, want the 3 of its new process", *m.Servers)
	}
	waited := MachineMark{Machine: to, Servers: []*ensemble.Usage{{CPU: 3 * time.Second, Start: 2, Ended: 15 * time.Second}}}
	if m := MachineBetween(MachineMark{Machine: from, Servers: []*ensemble.Usage{{CPU: 9 * time.Second, Start: 1, Ended: time.Second}}}, waited, 0); *m.Servers != 8 {
		t.Errorf("a server whose process ended after 14 s, of which 9 were before, used %v s, want 5 and the 3 of its new process", *m.Servers)
	}
}

// On a busy machine the marks are taken late: shares refer to the time between the readings, so that nothing exceeds the total.
func TestSharesAreOfTheTimeBetweenTheReadings(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1, 0).Add(time.Duration(s * float64(time.Second))) }
	before := MachineMark{Machine: metrics.Machine{CPUs: 2, Asked: at(1), Answered: at(1.1)}}
	after := MachineMark{Machine: metrics.Machine{CPUs: 2, Waiting: 6600 * time.Millisecond, Asked: at(7.6), Answered: at(7.7)}} // a steady phase of 6 s
	m := MachineBetween(before, after, time.Second)
	if *m.Waiting < 0.97 || *m.Waiting > 1 || math.Abs(m.Seconds-6.7) > 1e-9 {
		t.Errorf("for %v of %v s a thread waited, want nearly all of 6.7 s", *m.Waiting, m.Seconds)
	}
}
