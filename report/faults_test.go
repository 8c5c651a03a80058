package report

import (
	"strings"
	"testing"

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
		{Kind: "pause", Target: "server 2", AtS: 18, Error: "not healed: server 2: server not running", LongestPause: of(6000), PauseBefore: of(31)},
		{Kind: "cut-reply", AtS: 20, Error: "not carried out: no such request came"},
		{Kind: "hold-events", AtS: 23, HealedS: of(24), LongestPause: of(1000), PauseBefore: of(31)},
	}
	return run
}

func TestFaults(t *testing.T) {
	golden(t, "faults.txt", render(t, Text(faulty(), Look{Width: 120})))
	golden(t, "faults.md", render(t, Markdown(faulty())))
	if text := render(t, Text(quickstart(), Look{Width: 120})); strings.Contains(text, "Faults:") {
		t.Error("a run without faults has a table of them")
	}
	twice := faulty()
	second := twice.Cells[0]
	second.Repetition = 2
	twice.Cells = append(twice.Cells, second)
	if text := render(t, Text(twice, Look{Width: 160})); !strings.Contains(text, "predecessor, repetition 2") {
		t.Errorf("repetitions are not told apart:\n%s", text)
	}
}
