package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/results"
)

// givesGrants reports whether the row's recipe gives grants, for which the lock table has columns.
func (r row) givesGrants() bool { return r.unit() == "grants" }

// unit returns what the row counts, as a plural noun.
func (r row) unit() string {
	unit := ""
	for _, m := range r.shown() {
		switch {
		case m.Role != results.RoleOperation:
		case unit == "":
			unit = m.Unit
		case unit != m.Unit:
			return "operations"
		}
	}
	return cmp.Or(unit, "operations")
}

// shown returns the measures that have columns in a table.
func (r row) shown() []results.Measure {
	return slices.DeleteFunc(slices.Clone(r.cells[0].Measured), func(m results.Measure) bool { return m.Role != results.RoleOperation && m.Role != results.RolePart })
}

// measuresOf returns the columns of a workload that gives no grants: rate and response of each operation.
func measuresOf(group []row) []column {
	all := keys(group)
	for n, m := range group[0].shown() {
		in := partOfOp + part(n)
		if m.Role == results.RoleOperation {
			all = append(all, column{m.Op, "/s", m.Op + "/s", false, in, func(r row) string { return r.measured(m.Op)[0] }})
		}
		if m.Idles {
			continue
		}
		add := func(below, markdown string, i int) {
			all = append(all, column{m.Op, below, m.Op + " " + markdown, false, in, func(r row) string { return r.measured(m.Op)[i] }})
		}
		add("p50 ms", "p50, ms", 1)
		if tail(m) {
			add("p99 ms", "p99, ms", 2)
		}
		add("max ms", "max, ms", 3)
	}
	all = append(all, column{"not", "served %", "not served, %", false, partOfOp, func(r row) string { return r.unserved.count() }})
	return slices.Concat(all, []column{idle, useful}, outcomes)
}

// measured returns rate, p50, p99 and maximum of an operation.
func (r row) measured(op string) []string {
	keys := []string{op + ".response", op + ".service"} // a consequence of an operation has no due time
	rate := r.figure(byTime, func(c results.Cell) (float64, bool) {
		return float64(doneOf(c, op)) / c.ElapsedS, c.ElapsedS > 0
	})
	p50 := r.percentile(median, keys...)
	above := tails(p50, r.percentile(p99, keys...), r.maximum(keys...))
	return []string{rate.rate() + rate.mark(), p50.rate(), above[0], above[1]}
}

// tail reports whether a table shows the p99 of a measure.
func tail(m results.Measure) bool { return m.Timed || m.Role == results.RoleOperation }

// captionsOf explains the measures whose names are not self-explanatory.
func captionsOf(group []row) (captions []string) {
	for _, m := range group[0].shown() {
		if m.Caption != "" && !slices.Contains(captions, m.Caption) {
			captions = append(captions, m.Caption)
		}
	}
	return captions
}

// costsOf shows what one success cost next to the theory, without costs that were neither expected nor counted in any row. It has no rows if nothing
// was counted.
func costsOf(group []row) table {
	var spent []string // in the order of the first cell that has them
	theories := map[string]bool{}
	for _, r := range group {
		for _, c := range r.cells[0].Costs {
			if !slices.Contains(spent, c.Of) && (c.Measured > 0 || c.Theory != nil && *c.Theory > 0) {
				spent = append(spent, c.Of)
			}
			theories[c.Of] = theories[c.Of] || c.Theory != nil
		}
	}
	if len(spent) == 0 {
		return table{}
	}
	all := keysBeside(group)
	for n, of := range spent {
		add := func(below string, pick func(results.Cost) *float64) {
			markdown := of
			if below != "counted" {
				markdown += " " + below
			}
			all = append(all, column{of, below, markdown, false, partOfOp + part(n), func(r row) string {
				return r.figure(byOperations, func(c results.Cell) (float64, bool) {
					i := slices.IndexFunc(c.Costs, func(c results.Cost) bool { return c.Of == of })
					if i < 0 || pick(c.Costs[i]) == nil {
						return 0, false
					}
					return *pick(c.Costs[i]), true
				}).count()
			}})
		}
		add("counted", func(c results.Cost) *float64 { return &c.Measured })
		if theories[of] {
			add("theory", func(c results.Cost) *float64 { return c.Theory })
			add("ratio", func(c results.Cost) *float64 { return c.Ratio })
		}
	}
	return build(group, all)
}

// costsCaption says what the costs are per.
func costsCaption(group []row) string {
	return fmt.Sprintf("Cost of one %s to all sessions together, compared with theory: requests, names listed, bytes of names and data, watch events.%s",
		cmp.Or(group[0].cells[0].CostPer, group[0].cells[0].Measured[0].Op), upkeepCaption(group))
}

// upkeepCaption explains the requests that no recipe asks for, if there are any.
func upkeepCaption(group []row) string {
	if !slices.ContainsFunc(group, func(r row) bool {
		return slices.ContainsFunc(r.cells[0].Costs, func(c results.Cost) bool { return (c.Of == "watches" || c.Of == "session") && c.Measured > 0 })
	}) {
		return ""
	}
	return " 'watches' are requests that only manage watches, such as removing them; 'session' are pings and the opening and closing of sessions."
}
