package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/metrics"
)

// reach counts what the histories of one kind contained, and what became of each promise: a history that never occurs tests nothing.
type reach map[string]int

// add notes a history that has been judged.
func (r reach) add(w *world, verdicts []verdict) {
	note := func(has bool, what string) {
		if has {
			r[what]++
		}
	}
	did := func(op metrics.Op) bool {
		return slices.ContainsFunc(w.all, func(s metrics.Sample) bool { return s.Op == op })
	}
	note(true, fmt.Sprintf("%d hosts", w.set.hosts))
	note(w.stale > 0, "a server that shows an earlier state")
	note(w.unanswered > 0, "a write that is carried out, whose reply is lost")
	note(did(metrics.Down), "a connection that breaks")
	note(w.unanswered > 0 && w.set.hosts > 1, "the same, with several hosts")
	note(did(metrics.Expire), "a session that is expired on purpose")
	note(w.replaced > 0, "a session in the place of another")
	note(w.set.hosts > 1 && slices.Min(w.set.cuts) < 1, "a history that is cut")
	note(w.set.hosts > 1 && w.set.clocks[1].ahead > 0 && w.set.clocks[1].rate != 0, "clocks apart, at other rates")
	note(w.set.before39, "events without a transaction")
	note(w.wrong == 0, "sound: "+w.set.recipe)
	for _, v := range verdicts {
		r[v.of]++
		note(strings.Contains(v.of, " broken, one process"), "broken by: "+w.set.defect)
	}
}

// want returns what a few hundred histories of a kind contain. For promises that are judged for several hosts there are kept and broken ones, too.
func (k kind) want(promises map[string]promise) (all []string) {
	all = []string{"1 hosts", "2 hosts", "3 hosts", "a server that shows an earlier state", "a write that is carried out, whose reply is lost", "the same, with several hosts", "a connection that breaks",
		"a session that is expired on purpose", "a session in the place of another", "a history that is cut", "clocks apart, at other rates", "events without a transaction"}
	for _, recipe := range k.recipes {
		all = append(all, "sound: "+recipe)
	}
	for _, defect := range k.defects {
		all = append(all, "broken by: "+defect)
	}
	for name, p := range promises {
		all = append(all, name+" kept, one process", name+" broken, one process")
		if p.Across != nil {
			all = append(all, name+" kept, several hosts", name+" broken, several hosts", name+" kept, several hosts, cut")
		}
	}
	return all
}

// covers fails a test whose histories lack something.
func (r reach) covers(t *testing.T, want []string) {
	t.Helper()
	for _, what := range want {
		if r[what] == 0 {
			t.Errorf("none of the histories has had: %s", what)
		}
	}
}
