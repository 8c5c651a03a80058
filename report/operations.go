package report

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/results"
)

// manyOperations is the number of operations above which a reader cannot compare columns side by side.
const manyOperations = 3

// tall reports whether the operations of the rows become lines of the table instead of columns: there are many, or they differ between rows.
func tall(group []row) bool {
	return slices.ContainsFunc(group, func(r row) bool {
		all := r.operations()
		return len(all) > manyOperations || !slices.Equal(all, group[0].operations())
	})
}

// operations returns the measures of the row's operations.
func (r row) operations() []results.Measure {
	return slices.DeleteFunc(r.shown(), func(m results.Measure) bool { return m.Role != results.RoleOperation })
}

// operationsOf returns a table with one line per operation, below a line for all operations of the row.
func operationsOf(group []row) table {
	t := table{above: []string{"", "", "", "", "", "response", "in ms", "", ""},
		below:    []string{"variant", "sessions", "operation", "/s", "p50", "p99", "max", "errors", "verdict"},
		markdown: []string{"variant", "sessions", "operation", "/s", "response p50, ms", "p99, ms", "max, ms", "errors", "verdict"},
		text:     []bool{true, false, true, false, false, false, false, false, true}}
	for _, r := range group {
		head, end := []string{r.label() + r.marks(), fmt.Sprint(r.sessions)}, []string{fmt.Sprint(r.errors), r.verdict()}
		all := r.operations()
		if len(all) > 1 {
			t.rows = append(t.rows, slices.Concat(head, []string{"all", r.grants.rate() + r.grants.mark(), "", "", ""}, end))
			head, end = []string{"", ""}, []string{"", ""}
		}
		for _, m := range all {
			t.rows = append(t.rows, slices.Concat(head, []string{m.Op}, r.measured(m.Op), end))
		}
	}
	return t
}
