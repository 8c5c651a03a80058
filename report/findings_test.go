package report

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func TestFindings(t *testing.T) {
	run := results.Run{Profile: "published", Findings: []results.Finding{
		{Variant: "shown", Scenario: "s", Expected: "exclusion", Seen: "exclusion", Witness: "a and b hold, both of them at the very same time, which takes two lines to say"},
		{Variant: "silent", Scenario: "s", Expected: "exclusion", Witness: "passes"},
		{Variant: "surprising", Scenario: "s", Seen: "liveness", Witness: "nobody holds"},
		{Variant: "unplayed", Scenario: "s", Error: "no servers"},
		{Variant: "control", Scenario: "s", Witness: "passes"},
		{Variant: "control", Scenario: "r", Witness: "passes"},
	}}
	var text, markdown strings.Builder
	if err := Text(Run(run), Look{Width: 80})(&text); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(Run(run))(&markdown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"exclusion  - (!)", "liveness (!)", "not played: no servers", "control passes s, r.",
		"6 trials: 1 showed the expected violation, 2 passed as expected, 3 did not behave as expected."} {
		if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("the text lacks %q:\n%s", want, &text)
		}
	}
	for line := range strings.Lines(text.String()) {
		if len(line) > 81 {
			t.Errorf("a line of %d characters: %s", len(line)-1, line)
		}
	}
	if want := "which takes two lines to say |"; !strings.Contains(markdown.String(), want) {
		t.Errorf("the Markdown lacks %q:\n%s", want, &markdown)
	}
	if strings.Contains(text.String(), "No cell") {
		t.Errorf("the text misses cells, which such a run has none of:\n%s", &text)
	}
}
