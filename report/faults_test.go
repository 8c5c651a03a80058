package report

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/internal/golden"
	"github.com/zkbench/zkbench/results"
)

// faulty is a run with faults; the numbers are made up.
func faulty() results.Run {
	run := quickstart()
	run.Cells = run.Cells[1:2]
	run.Notes = []string{"The sessions went through a proxy."}
	of := func(v float64) *float64 { return &v }
	moved := 8
	c := &run.Cells[0]
	c.Faults = []results.Fault{
		{Kind: "kill", Target: "leader (server 3)", AtS: 4.01, HealedS: of(9.5), NextGrant: of(341.3), LongestPause: of(620), PauseBefore: of(31),
			ThroughputBefore: of(118), ThroughputAfter: of(11), SessionsMoved: &moved, SessionsExpired: 1, Orphans: 2},
		{Kind: "expire", Target: "session 3", AtS: 16, HealedS: of(16.03), NextGrant: of(8.2), LongestPause: of(33), PauseBefore: of(31),
			ThroughputBefore: of(118), ThroughputAfter: of(109), SessionsExpired: 1},
		{Kind: "pause", Target: "server 2", AtS: 18, Error: "did not recover: server 2: server not running", LongestPause: of(6000), PauseBefore: of(31)},
		{Kind: "cut-reply", AtS: 20, Error: "not carried out: no such request came"},
		{Kind: "hold-events", AtS: 23, HealedS: of(24), LongestPause: of(1000), PauseBefore: of(31)},
	}
	return run
}

func TestFaults(t *testing.T) {
	golden.Compare(t, "faults.txt", render(t, Text(Run(faulty()), Look{Width: 120})))
	golden.Compare(t, "faults.md", render(t, Markdown(Run(faulty()))))
	if text := render(t, Text(Run(quickstart()), Look{Width: 120})); strings.Contains(text, "Faults:") {
		t.Error("a run without faults has a table of them")
	}
	twice := faulty()
	second := twice.Cells[0]
	second.Repetition = 2
	twice.Cells = append(twice.Cells, second)
	if text := render(t, Text(Run(twice), Look{Width: 160})); !strings.Contains(text, "predecessor, repetition 2") {
		t.Errorf("repetitions are not told apart:\n%s", text)
	}
}

// A leader that ended by itself is reported with what the servers' figures show, and not as an injected fault.
func TestALeaderLostByItself(t *testing.T) {
	run := faulty()
	of := func(v float64) *float64 { return &v }
	moved := 1
	run.Cells[0].Faults = []results.Fault{{Kind: "leader lost", Unplanned: true, Target: "10.0.0.1:2181, then 10.0.0.2:2181", AtS: 4.01, HealedS: of(7.01),
		LeaderlessMinS: of(1), LeaderlessMaxS: of(3), NextGrant: of(2600), LongestPause: of(2620), PauseBefore: of(31), SessionsMoved: &moved}}
	text := strings.Join(strings.Fields(render(t, Text(Run(run), Look{Width: 160}))), " ")
	for _, want := range []string{"leader lost (unplanned), 10.0.0.1:2181, then 10.0.0.2:2181, after 4.01 s",
		"no leader for 1 s to 3 s, 1 session moved, 0 sessions expired; no grant for 2600 ms", "none was planned"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "on purpose") {
		t.Errorf("the text calls it broken on purpose:\n%s", text)
	}
}

// A storm of reconnections is reported with when the clients were back.
func TestAStorm(t *testing.T) {
	of := func(v float64) *float64 { return &v }
	cut, none, handshakes := 300, 0, 412
	for _, c := range []struct {
		fault results.Fault
		want  string
	}{
		{results.Fault{SessionsCut: &cut, BackHalf: of(410), Back99: of(1900), BackAll: of(2100), Handshakes: &handshakes},
			"; 300 clients lost their connection, half were back after 410 ms, 99 % after 1900 ms, all after 2100 ms, with 412 handshakes"},
		{results.Fault{SessionsCut: &cut, BackHalf: of(410), Handshakes: &handshakes},
			"; 300 clients lost their connection, half were back after 410 ms, 99 % were not back, with 412 handshakes"},
		{results.Fault{SessionsCut: &none}, ""},
		{results.Fault{}, ""},
	} {
		if got := storm(c.fault, "grant"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// The report says how many servers answered, and how many the ensemble has.
func TestServersThatAnswered(t *testing.T) {
	of := func(n int) *int { return &n }
	for _, c := range []struct {
		e    results.Environment
		want string
	}{
		{results.Environment{Servers: 3}, "3 servers"},
		{results.Environment{Servers: 1, Answered: of(1), Voting: of(1)}, "1 server"},
		{results.Environment{Servers: 3, Answered: of(3), Voting: of(3)}, "3 servers"},
		{results.Environment{Servers: 1, Answered: of(1), Voting: of(3)}, "1 of the ensemble's 3 servers answered, 1 given"},
		{results.Environment{Servers: 3, Answered: of(2), Voting: of(3)}, "2 of the ensemble's 3 servers answered"},
		{results.Environment{Servers: 3, Answered: of(2)}, "2 of 3 servers answered"},
		{results.Environment{Servers: 4, Answered: of(4), Voting: of(3)}, "4 servers"},
	} {
		if got := servers(c.e); got != c.want {
			t.Errorf("servers = %q, want %q", got, c.want)
		}
	}
}

// A late machine is reported with what used it; zkbench is blamed only if it was the cause.
func TestALateMachineIsNotTheGenerator(t *testing.T) {
	run := quickstart()
	run.Cells[0].Generator.Late = true // for the larger number of sessions
	if text := strings.ReplaceAll(render(t, Text(Run(run), Look{})), "\n  ", " "); !strings.Contains(text, ", but the machine was late: this does not measure the servers alone") {
		t.Errorf("the sentence does not say that the machine was late:\n%s", text)
	}
	run.Cells = run.Cells[:1]
	run.Cells[0].Sessions, run.Cells[0].Partial, run.Cells[0].ElapsedS = 1, true, 6e-8
	run.Cells[0].Generator = results.Generator{Late: true, LateReason: "the machine was busy with other processes"}
	text := strings.Join(strings.Fields(render(t, Text(Run(run), Look{Width: 160}))), " ")
	for _, want := range []string{"zkbench was late in naive, 1 session, but did not cause it: the machine was busy with other processes.", "cut short after 60 ns", "1 session "} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "bottleneck") || strings.Contains(text, "1 sessions") {
		t.Errorf("the text accuses zkbench, or counts '1 sessions':\n%s", text)
	}
}
