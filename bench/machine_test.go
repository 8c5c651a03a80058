package bench

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// The one that used the machine is accused: never the generator for what others did.
func TestWhoIsAccusedOfLateTimers(t *testing.T) {
	const second = time.Second
	usage := func(cpu time.Duration) []*ensemble.Usage { return []*ensemble.Usage{{CPU: cpu, Start: 1}, nil} }
	for _, c := range []struct {
		sentence                   string
		own, servers, stolen, idle time.Duration // of 20 s of CPU time: two CPUs for ten seconds
		late                       time.Duration
		zkbench                    bool
		says                       string // "" when nobody is accused
	}{
		{"timers in time", second, 2 * second, 0, second, time.Millisecond, false, ""},
		{"others kept the machine busy", second, 3 * second, 0, second, 40 * time.Millisecond, false, "busy with other processes"},
		{"the servers kept it busy", second, 14 * second, 0, second, 40 * time.Millisecond, false, "busy with the servers"},
		{"the host took it", second, 2 * second, 14 * second, second, 40 * time.Millisecond, false, "host of this virtual machine"},
		{"nobody kept it busy", second, second, 0, 15 * second, 40 * time.Millisecond, false, "though not busy"},
		{"zkbench used most", 12 * second, 3 * second, 0, second, 40 * time.Millisecond, true, "zkbench used 60 % of the CPU time"},
		{"zkbench used nearly all, its timers in time", 18 * second, second, 0, 0, time.Millisecond, true, "90 % of the CPUs"},
	} {
		before := machineMark{machine: metrics.Machine{CPUs: 2, Idle: second, Waiting: second, Asked: time.Unix(1, 0)}, servers: usage(second)}
		after := machineMark{machine: metrics.Machine{CPUs: 2, Stolen: c.stolen, Idle: second + c.idle, Waiting: 9 * second, Told: time.Unix(11, 0)},
			servers: usage(second + c.servers)}
		m := machineBetween(before, after, c.own)
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

// A generator that uses what it may use has limited the cell, however many CPUs are idle.
func TestAStarvedGeneratorIsAccused(t *testing.T) {
	for _, c := range []struct {
		share, allowed float64
		want           string // "": not accused
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

// Servers that nobody can look at are among the others, and are no zero.
func TestServersThatRunElsewhereAreUnknown(t *testing.T) {
	from, to := metrics.Machine{Asked: time.Unix(1, 0)}, metrics.Machine{Told: time.Unix(2, 0)}
	none := []*ensemble.Usage{nil, nil}
	if m := machineBetween(machineMark{machine: from, servers: none}, machineMark{machine: to, servers: none}, 0); m.Servers != nil {
		t.Errorf("servers' CPU time is %v, want null", *m.Servers)
	}
	if m := machineBetween(machineMark{machine: from}, machineMark{machine: to}, 0); m.Servers != nil {
		t.Errorf("servers' CPU time is %v, want null", *m.Servers)
	}
	restarted := machineMark{machine: to, servers: []*ensemble.Usage{{CPU: 3 * time.Second, Start: 2}}}
	if m := machineBetween(machineMark{machine: from, servers: []*ensemble.Usage{{CPU: 9 * time.Second, Start: 1}}}, restarted, 0); *m.Servers != 3 {
		t.Errorf("a restarted server used %v s, want the 3 of its new process", *m.Servers)
	}
}

// On a busy machine the marks are late: shares are of the time between the readings, so that nothing takes more than all of it.
func TestSharesAreOfTheTimeBetweenTheReadings(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1, 0).Add(time.Duration(s * float64(second))) }
	before := machineMark{machine: metrics.Machine{CPUs: 2, Asked: at(1), Told: at(1.1)}}
	after := machineMark{machine: metrics.Machine{CPUs: 2, Waiting: 6600 * time.Millisecond, Asked: at(7.6), Told: at(7.7)}} // a steady phase of 6 s
	m := machineBetween(before, after, second)
	if *m.Waiting < 0.97 || *m.Waiting > 1 || math.Abs(m.Seconds-6.7) > 1e-9 {
		t.Errorf("for %v of %v s a thread waited, want nearly all of 6.7 s", *m.Waiting, m.Seconds)
	}
}
