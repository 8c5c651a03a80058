package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zkbench/zkbench/results"
)

// The table of probes has reasons of any length, and fits the width all the same.
func TestProbesFitTheWidth(t *testing.T) {
	load, p99 := 195.7, 7880.0
	reason := "no faster any more after 4 blocks: mean response 13.3 ms in the first, 48.3 ms in the last"
	doc := results.Capacity{Outcome: "interrupted", Reason: "interrupted", Goals: []string{"p99<200ms"}, Probes: []results.CapacityProbe{
		{Purpose: "confirm", Load: load, P99: &p99, Decision: "undecided", Reason: reason, Blocks: []results.CapacityBlock{{Due: 11901, Done: 11908, Over: []int{6423}}}}}}
	for _, width := range []int{80, 100} {
		var out strings.Builder
		if err := Capacity(doc, Look{Width: width})(&out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns for %d: %s", n, width, line)
			}
		}
		if said := strings.Join(strings.Fields(out.String()), " "); strings.Contains(said, "interrupted (") || !strings.Contains(said, "48.3") {
			t.Errorf("at %d columns: %s", width, said)
		}
	}
}

// The longest wait for the base latency is told where it was long, and as hysteresis where it was in vain.
func TestRecoveryIsTold(t *testing.T) {
	blocks := []results.CapacityBlock{{Due: 1000}}
	for want, last := range map[string]results.CapacityProbe{
		"": {Recovery: 4, Blocks: blocks},
		"the latency of the lowest load took up to 34 s to come back (before probe 2)": {Recovery: 34, Blocks: blocks, Decision: "pass"},
		"Hysteresis: 62 s after a load that was too much":                              {Recovery: 62, Decision: "invalid"},
	} {
		doc := results.Capacity{Outcome: "unstable", Goals: []string{"p99<50ms"}, Probes: []results.CapacityProbe{{Blocks: blocks}, last}}
		if got := strings.Join(recovery(doc), "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A search whose probes left znodes says so.
func TestLeftoversAreTold(t *testing.T) {
	few, more := 5.0, 105.0
	for want, znodes := range map[string][]*float64{"": {&few, &few, nil}, "Before probe 3 there were 105 znodes, and 5 before the first": {&few, nil, &more}} {
		doc := results.Capacity{}
		for _, n := range znodes {
			doc.Probes = append(doc.Probes, results.CapacityProbe{Znodes: n})
		}
		if got := strings.Join(leftovers(doc), "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
