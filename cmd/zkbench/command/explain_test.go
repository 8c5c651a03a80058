package command

import (
	"testing"

	"github.com/zkbench/zkbench/docs"
)

// Every measure of every workload is explained, and no explained name is unused.
func TestEveryMeasureIsExplained(t *testing.T) {
	all, err := setup().Catalogue().Builtin()
	if err != nil {
		t.Fatal(err)
	}
	measures := 0
	for _, p := range all {
		for _, c := range setup().Outline(p) {
			for _, m := range c.Measured {
				measures++
				if len(docs.Explain(m.Op)) == 0 {
					t.Errorf("docs/reading.md does not explain %s of %s", m.Op, p.Workload)
				}
			}
		}
	}
	if measures == 0 {
		t.Error("no workload has a measure")
	}
	for _, term := range docs.Terms() {
		if term.Text == "" {
			t.Errorf("docs/reading.md says nothing of %v", term.Names)
		}
	}
}

func TestExplain(t *testing.T) {
	zkbench(t, "explain").want(exitOK, "hand-off | ", "wanted %")
	zkbench(t, "explain", "useful").want(exitOK, "Percentage of the watch events after which the woken session made progress")
	zkbench(t, "explain", "wanted", "%").want(exitOK, "Percentage of the steady phase in which an object was free")
	zkbench(t, "explain", "hand-of").want(exitUsage, "did you mean hand-off?")
}
