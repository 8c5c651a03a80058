package report

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// The rows say what was fenced by what, and mark unexpected outcomes: a violation that did not show, and one behind a fence.
func TestFencingTable(t *testing.T) {
	finding := func(variant string, fence string, accepted, rejected int) results.Finding {
		f := results.Finding{Variant: variant, Witness: "a witness", Fencing: &results.Fencing{Resource: "znode", Fenced: fence != "", Fence: fence,
			Accepted: accepted, Rejected: rejected}}
		if fence == "" {
			f.Expected = results.StaleWrite
		}
		if accepted > 0 {
			f.Seen = results.StaleWrite
		}
		return f
	}
	unplayed := finding("unplayed", "token", 0, 0)
	unplayed.Error = "no servers"
	run := results.Run{Profile: "fencing", Findings: []results.Finding{finding("open", "", 3, 0), finding("shut", "transaction", 0, 3),
		finding("silent", "", 0, 0), finding("leaky", "token", 1, 2), unplayed}}
	var text, markdown strings.Builder
	if err := Text(Run(run), Look{})(&text); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(Run(run))(&markdown); err != nil {
		t.Fatal(err)
	}
	plain := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{
		"open znode none violated violated 3 0 a witness",
		"shut znode transaction holds holds 0 3 a witness",
		"silent znode none violated holds (!) 0 0",
		"leaky znode token holds violated (!) 1 2",
		"unplayed znode token holds unknown (!) 0 0 not played: no servers",
		"without a fence 3 were accepted, with one 1 were accepted and 5 rejected.",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("the text lacks %q:\n%s", want, &text)
		}
	}
	if want := "| accepted stale | rejected stale |"; !strings.Contains(markdown.String(), want) {
		t.Errorf("the Markdown lacks %q:\n%s", want, &markdown)
	}
	if strings.Contains(text.String(), "passes") {
		t.Errorf("the text tells of scenarios that are none:\n%s", &text)
	}
}
