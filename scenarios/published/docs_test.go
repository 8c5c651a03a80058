package published_test

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/published"
)

// The table of docs/recipes.md matches what the program expects, and its commands name existing variants.
func TestTheDocumentSaysWhatIsExpected(t *testing.T) {
	text, err := os.ReadFile("../../docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[scenarios.Trial]bool{}
	var variants []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			variants = nil
		case cells[0] == "scenario":
			variants = cells[2:]
		case len(cells) == len(variants)+2 && variants != nil:
			known := slices.ContainsFunc(published.Scenarios, func(s published.Scenario) bool { return s.Name == cells[0] })
			if !known && !strings.HasPrefix(cells[0], "---") {
				t.Errorf("the document has a row for %s, which is no scenario", cells[0])
			}
			for i, v := range variants {
				if seen := cells[i+2]; seen != "" && !strings.HasPrefix(seen, "---") {
					documented[scenarios.Trial{Variant: v, Scenario: cells[0], Expect: scenarios.Violation(strings.Trim(seen, "-"))}] = true
				}
			}
		}
	}
	for _, e := range published.Expectations {
		if !documented[e] {
			t.Errorf("the document lacks that %s in %s does %s", e.Variant, e.Scenario, cmp.Or(string(e.Expect), "come through"))
		}
		delete(documented, e)
	}
	for e := range documented {
		t.Errorf("the document has %s in %s as %q, which nobody expects", e.Variant, e.Scenario, e.Expect)
	}
	findings, err := os.ReadFile("../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`run published --set variants=\[([^]]*)\]`).FindAllSubmatch(append(text, findings...), -1) {
		for name := range strings.SplitSeq(string(m[1]), ",") {
			if !slices.Contains(published.Variants(), name) {
				t.Errorf("a command names %s, which is no published variant", name)
			}
		}
	}
}
