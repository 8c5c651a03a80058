package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// givesGrants says whether the row is of a recipe that gives grants: what the lock table has columns for. Documents that do not say what
// they measured are of locks.
func (r row) givesGrants() bool {
	measures := r.cells[0].Measures
	return len(measures) == 0 || slices.Contains(measures, "acquire") || slices.Contains(measures, "read-acquire")
}

// measuresOf is the table of a workload that gives no grants: for each operation its rate and its response.
func measuresOf(group []row) table {
	t := table{above: []string{"", ""}, below: []string{"variant", "sessions"}, markdown: []string{"variant", "sessions"}, text: []bool{true, false}}
	add := func(above, below, markdown string, text bool) {
		t.above, t.below, t.markdown, t.text = append(t.above, above), append(t.below, below), append(t.markdown, markdown), append(t.text, text)
	}
	measures := group[0].cells[0].Measures
	agree := slices.ContainsFunc(group, row.agrees)
	if agree {
		add("", "participants", "participants", false)
	}
	offers := slices.ContainsFunc(group, func(r row) bool { return r.offered != group[0].offered })
	if offers {
		add("offered", "/s", "offered/s", false)
	}
	for _, m := range measures {
		if isPart(m) {
			add(m, "p50 ms", m+" p50, ms", false)
			add("", "max", "max, ms", false)
			continue
		}
		add(m, "/s", m+"/s", false)
		add("", "p50 ms", m+" response p50, ms", false)
		add("", "p99", "p99, ms", false)
		add("", "max", "max, ms", false)
	}
	add("", "errors", "errors", false)
	add("", "verdict", "verdict", true)
	for _, r := range group {
		line := []string{r.label() + map[bool]string{true: " *"}[r.partial()], fmt.Sprint(r.sessions)}
		if agree {
			line = append(line, fmt.Sprint(r.participants))
		}
		if offers {
			line = append(line, offered(r))
		}
		for _, m := range measures {
			figures := r.measured(m)
			if isPart(m) {
				figures = []string{figures[1], figures[3]}
			}
			line = append(line, figures...)
		}
		t.rows = append(t.rows, append(line, fmt.Sprint(r.errors), r.verdict()))
	}
	return t
}

// agrees says whether the row has participants.
func (r row) agrees() bool { return r.participants > 0 }

// measured is rate, p50, p99 and maximum of an operation.
func (r row) measured(op string) []string {
	of := func(pick func(results.Latency) (float64, bool)) string {
		return r.figure(func(c results.Cell) (float64, bool) {
			l, has := latencyOf(c, op)
			if !has {
				return 0, false
			}
			return pick(l)
		}).text()
	}
	rate := r.figure(func(c results.Cell) (float64, bool) {
		l, _ := latencyOf(c, op)
		return float64(l.Count) / c.ElapsedS, c.ElapsedS > 0
	})
	return []string{rate.text() + rate.mark(Look{}), of(func(l results.Latency) (float64, bool) { return l.P50, l.Count >= leastForMedian }),
		of(func(l results.Latency) (float64, bool) { return known(l.P99) }),
		of(func(l results.Latency) (float64, bool) { return l.Max, l.Count > 0 })}
}

// isPart says whether an operation is a fail-over or a part of one: each comes with one of another operation, and has its rate.
func isPart(op string) bool { return slices.Contains([]string{"hand-off", "detect", "elect"}, op) }

// partsCaption says what the parts of a fail-over are, or what observers wait for, where there is any.
func partsCaption(group []row) []string {
	has := func(op string) bool { return slices.Contains(group[0].cells[0].Measures, op) }
	switch {
	case has("deliver") && has("detect"):
		return []string{deliverCaption + " Detect is from the crash of a member to each view without it: its session has to time out first, and a " +
			"member that comes back before waits for that too, which is in the response of its join."}
	case has("deliver"):
		return []string{deliverCaption}
	case !has("detect"):
		return nil
	}
	return []string{"A hand-off is from the end of a leader, or what ends it, to the beginning of the next one: it detects by an event of " +
		"the servers that the leader's znode is gone, and elects itself by another look. A campaign is the whole wait of a candidate."}
}

const deliverCaption = "Deliver is from the issue of a change to its being in the hands of each who observes. What an observer sees at " +
	"once costs it one event and one look, so that a ratio below 1 is changes that came together."

// latencyOf is the response of an operation, or of what follows from one, which is due at no time, its length.
func latencyOf(c results.Cell, op string) (results.Latency, bool) {
	if l, has := c.Latency[op+".response"]; has {
		return l, true
	}
	l, has := c.Latency[op+".service"]
	return l, has
}

// costsOf is what one success cost beside the theory. It has no rows where nothing was counted.
func costsOf(group []row) table {
	t := table{above: []string{"", ""}, below: []string{"variant", "sessions"}, markdown: []string{"variant", "sessions"}, text: []bool{true, false}}
	add := func(above, below string) {
		t.above, t.below, t.text = append(t.above, above), append(t.below, below), append(t.text, false)
		t.markdown = append(t.markdown, strings.TrimSpace(above+" "+below))
	}
	agree := slices.ContainsFunc(group, row.agrees)
	if agree {
		add("", "participants")
	}
	var spent []string // in the order of the first cell that has them
	theories := map[string]bool{}
	for _, r := range group {
		for _, c := range r.cells[0].Costs {
			if !slices.Contains(spent, c.Of) {
				spent = append(spent, c.Of)
			}
			theories[c.Of] = theories[c.Of] || c.Theory != nil
		}
	}
	for _, of := range spent {
		add("", of)
		if theories[of] {
			add("in", "theory")
			add("", "ratio")
		}
	}
	for _, r := range group {
		line := []string{r.label(), fmt.Sprint(r.sessions)}
		if agree {
			line = append(line, fmt.Sprint(r.participants))
		}
		for _, of := range spent {
			cost := func(pick func(results.Cost) *float64) string {
				return r.figure(func(c results.Cell) (float64, bool) {
					i := slices.IndexFunc(c.Costs, func(c results.Cost) bool { return c.Of == of })
					if i < 0 || pick(c.Costs[i]) == nil {
						return 0, false
					}
					return *pick(c.Costs[i]), true
				}).text()
			}
			line = append(line, cost(func(c results.Cost) *float64 { return &c.Measured }))
			if theories[of] {
				line = append(line, cost(func(c results.Cost) *float64 { return c.Theory }), cost(func(c results.Cost) *float64 { return c.Ratio }))
			}
		}
		t.rows = append(t.rows, line)
	}
	if len(spent) == 0 {
		t.rows = nil
	}
	return t
}

// costsCaption says what the costs are per.
func costsCaption(group []row) string {
	return fmt.Sprintf("What one %s cost all sessions together, beside the theory: requests, names listed, bytes of names and data, watch events.",
		cmp.Or(group[0].cells[0].CostPer, group[0].cells[0].Measures[0]))
}
