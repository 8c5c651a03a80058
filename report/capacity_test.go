package report

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/results"
)

// of returns the measurement of a probe, after some seconds of recovery.
func of(recovery float64, blocks ...capacity.Block) capacity.Measurement {
	return capacity.Measurement{Recovery: recovery, Blocks: blocks}
}

// The table of probes may have reasons of any length, and still fits the width.
func TestProbesFitTheWidth(t *testing.T) {
	load, p99 := 195.7, 7880.0
	reason := "no longer getting faster after 4 blocks: mean response 13.3 ms in the first, 48.3 ms in the last"
	doc := results.Capacity{Outcome: "interrupted", Reason: "interrupted", Goals: []string{"p99<200ms"}, Probes: []results.CapacityProbe{
		{Purpose: "confirm", Load: load, P99: &p99, Decision: "undecided", Reason: reason, Measurement: of(0, capacity.Block{Due: 11901, Done: 11908, Over: []int{6423}})}},
		NotMonotone: []float64{106.60994547120254, 141.4213562373095}}
	for _, width := range []int{80, 100} {
		var out strings.Builder
		if err := Text(Capacity(doc), Look{Width: width})(&out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns for %d: %s", n, width, line)
			}
		}
		if said := strings.Join(strings.Fields(out.String()), " "); strings.Contains(said, "interrupted (") || !strings.Contains(said, "48.3") || !strings.Contains(said, "passed): 106.6, 141.4") {
			t.Errorf("at %d columns: %s", width, said)
		}
	}
}

// A search that ended between two loads says what to plan for; if only the lowest load is known to pass, it says to plan for nothing higher.
func TestWhatIsKnownBetweenTwoLoads(t *testing.T) {
	for low, want := range map[float64]string{8183: "Plan for at most 6140 (75 % of the lower end), find what", 400: "conclude that any load above the lowest passes. Find what"} {
		high := 14070.0
		doc := results.Capacity{Outcome: "between", Goals: []string{"p99<50ms"}, Low: &low, High: &high, Plan: &results.CapacityPlan{From: 400}}
		if said := strings.Join(capacitySentences(doc), " "); !strings.Contains(said, want) || strings.Contains(said, "at most 300") {
			t.Errorf("from %v: %s, want %q", low, said, want)
		}
	}
}

// Searches on several ensembles are shown next to each other, and each is a test case with its name.
func TestSearchTable(t *testing.T) {
	figure := func(x float64) *float64 { return &x }
	searches := []EnsembleSearch{{"local-1", results.Capacity{Outcome: "found", Unit: "acquire/s", Goals: []string{"p99<50ms"}, Load: figure(2000), Low: figure(1900), High: figure(2100), Limit: "the disk"}},
		{"local-3", results.Capacity{Outcome: "found", Unit: "acquire/s", Goals: []string{"p99<50ms"}, Load: figure(1500), Low: figure(1400), High: figure(1600), Limit: "unknown"}},
		{"local-5", results.Capacity{Outcome: "out of budget", Unit: "acquire/s", Goals: []string{"p99<50ms"}, Exit: results.Exit{Code: 5, Reason: "no time"}}}}
	var out, markdown strings.Builder
	if err := errors.Join(Text(SearchTable(searches), Look{Width: 100})(&out), Markdown(Searches(searches))(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{out.String(), markdown.String()} {
		for _, want := range [][]string{{"local-1", "found", "2000", "1900", "2100", "-", "the disk"}, {"local-3", "found", "1500", "1400", "1600", "75 %"}, {"local-5", "out of budget", "none", "-"}} {
			if !containsInLine(text, want) {
				t.Errorf("no line has %q:\n%s", want, text)
			}
		}
	}
	tests := Searches(searches).Tests("locks-open")
	if n := len(tests.Cases); n != 6 || tests.Cases[2].Suite != "capacity local-3" || tests.Cases[4].Answer != Unknown {
		t.Errorf("%+v", tests)
	}
}

// containsInLine reports whether a line contains all of some texts, in order.
func containsInLine(text string, want []string) bool {
	for line := range strings.Lines(text) {
		all := true
		for _, w := range want {
			_, rest, found := strings.Cut(line, w)
			all, line = all && found, rest
		}
		if all {
			return true
		}
	}
	return false
}

// The longest wait for the base latency is reported if it was long, and as hysteresis if it was in vain.
func TestRecoveryIsTold(t *testing.T) {
	block := capacity.Block{Due: 1000}
	for want, last := range map[string]results.CapacityProbe{
		"": {Measurement: of(4, block)},
		"the latency at the lowest load took up to 34 s to recover (before probe 2)": {Measurement: of(34, block), Decision: "pass"},
		"Hysteresis: 62 s after an overload":                                         {Measurement: of(62), Decision: "invalid"},
	} {
		doc := results.Capacity{Outcome: "unstable", Goals: []string{"p99<50ms"}, Probes: []results.CapacityProbe{{Measurement: of(0, block)}, last}}
		if got := strings.Join(recovery(doc), "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A search without a figure says so if the lowest load misses a goal nearly as often as allowed.
func TestAGoalThatTheLowestLoadHardlyMeetsIsTold(t *testing.T) {
	for _, c := range []struct {
		outcome  string
		over     int
		reported bool
	}{{"out of budget", 62, true}, {"between", 62, true}, {"found", 62, false}, {"unstable", 40, false}, {"out of budget", 0, false}} {
		doc := results.Capacity{Outcome: c.outcome, Goals: []string{"errors<5%", "p99<10ms"}, Plan: &results.CapacityPlan{From: 100, Shares: []float64{0.05, 0.01}}, Probes: []results.CapacityProbe{
			{Purpose: "base", Load: 100, Measurement: of(0, capacity.Block{Due: 1000, Over: []int{0, 90}})},
			{Purpose: "warm-up", Load: 100, Measurement: of(0, capacity.Block{Due: 6000, Over: []int{0, 0}}, capacity.Block{Due: 4000, Over: []int{0, c.over}})},
			{Purpose: "climb", Load: 200, Measurement: of(0, capacity.Block{Due: 1000, Over: []int{0, 900}})}}}
		const want = "At the lowest load, 100, 0.62 % of the operations missed p99<10ms (1 % allowed): "
		if got := strings.Join(floor(doc), ""); strings.HasPrefix(got, want) != c.reported || (got == "") == c.reported {
			t.Errorf("%s with %d: %q", c.outcome, c.over, got)
		}
	}
}

// Critical loads of limits that were not searched for are reported, as far as they are known.
func TestTheCurveIsTold(t *testing.T) {
	low, load, high := 100., 150., 200.
	doc := results.Capacity{Curve: []results.CriticalLoad{{Goal: "p99<1ms"}, {Goal: "p99<2ms", High: &high}, {Goal: "p99<5ms", Low: &low, Load: &load, High: &high}, {Goal: "p99<9ms", Low: &low}}}
	if got, want := strings.Join(curve(doc), "\n"), "p99<1ms: none known; p99<2ms: less than 200; p99<5ms: 150 (100 to 200); p99<9ms: at least 100."; !strings.HasSuffix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

// A search whose probes left znodes says so.
func TestLeftoversAreTold(t *testing.T) {
	few, more := 5.0, 105.0
	for want, znodes := range map[string][]*float64{"": {&few, &few, nil}, "Before probe 3 there were 105 znodes, before the first 5": {&few, nil, &more}} {
		doc := results.Capacity{}
		for _, n := range znodes {
			doc.Probes = append(doc.Probes, results.CapacityProbe{Measurement: capacity.Measurement{Znodes: n}})
		}
		if got := strings.Join(leftovers(doc), "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The leader's CPU is reported next to the limit, if it is known and a load failed.
func TestTheCPUOfTheLeaderIsTold(t *testing.T) {
	used, failed := 0.384, 4400.0
	doc := results.Capacity{Outcome: "found", Load: &failed, Failed: &failed, Limit: "the disk", Evidence: []string{"mean time of a sync: 3 ms at 2200, 21 ms at 4400"}}
	const limit = "Limit: the disk; mean time of a sync: 3 ms at 2200, 21 ms at 4400."
	for want, cpus := range map[string]*float64{limit: nil, limit + " Leader CPU 38 % at 4400 (100 % is one CPU).": &used} {
		doc.LeaderCPUs = cpus
		if got := capacitySentences(doc); !slices.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A soak is reported, or why there was none; a search that was interrupted during it still has its capacity.
func TestASoakIsTold(t *testing.T) {
	load, low, high := 100., 90., 110.
	asked := &results.CapacityPlan{SoakShare: 0.75, Soak: 600}
	for _, c := range []struct {
		doc  results.Capacity
		want string
	}{
		{results.Capacity{Outcome: "found", Load: &load, Plan: asked, Soak: "pass at 75: none of 900 missed p99<50ms"}, "Soak: pass at 75: none of 900 missed p99<50ms."},
		{results.Capacity{Outcome: "unstable", Plan: asked}, "Soak: not run, because the search found no load to soak at."},
		{results.Capacity{Outcome: "unstable", Plan: &results.CapacityPlan{}}, ""},
		{results.Capacity{Outcome: "interrupted", Load: &load, Plan: asked}, ""},
	} {
		got := slices.DeleteFunc(capacitySentences(c.doc), func(line string) bool { return !strings.HasPrefix(line, "Soak") })
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, want %q", c.doc.Outcome, got, c.want)
		}
	}
	cut := results.Capacity{Outcome: "interrupted", Goals: []string{"p99<50ms"}, Unit: "acquire/s", Load: &load, Low: &low, High: &high}
	if got, want := CapacitySentence(cut), "capacity 100 acquire/s (95 %: 90 to 110) within p99<50ms, without the soak: interrupted"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	cut.Plan = &results.CapacityPlan{} // no soak
	if got, want := CapacitySentence(cut), "capacity 100 acquire/s (95 %: 90 to 110) within p99<50ms, without coming back to it: interrupted"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A figure comes with a description of its interval.
func TestWhatAnIntervalIsOf(t *testing.T) {
	load := 100.0
	doc := results.Capacity{Outcome: "found", Goals: []string{"p99<50ms"}, Load: &load, Low: &load, High: &load, IntervalOf: "what these servers carried in the 9m of the search"}
	if got, want := capacitySentences(doc), "The interval is of what these servers carried in the 9m of the search."; !slices.Contains(got, want) {
		t.Errorf("%q has no line %q", got, want)
	}
}
