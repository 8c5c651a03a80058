package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// sentences compares the variants of a workload, one sentence per load. It is empty if there is only one variant.
func sentences(rows []row) []string {
	var all []string
	for _, load := range loads(rows) {
		variants := variantsOf(load)
		if len(variants) < 2 {
			continue
		}
		text := sentence(load, variants)
		for _, o := range load[0].own {
			if o.Role == results.RoleShare {
				text = fmt.Sprintf("With %s: %s", o.words(), text)
			}
		}
		if load[0].offered > 0 {
			text = fmt.Sprintf("At a rate of %s/s: %s", number(load[0].offered), text)
		}
		all = append(all, text)
	}
	return all
}

// loads groups rows that differ only in variant and contenders.
func loads(rows []row) [][]row {
	var all [][]row
	for _, r := range rows {
		i := slices.IndexFunc(all, func(load []row) bool {
			return load[0].workload == r.workload && load[0].offered == r.offered && load[0].loop == r.loop && load[0].objects == r.objects &&
				load[0].burden == r.burden
		})
		if i < 0 {
			all = append(all, nil)
			i = len(all) - 1
		}
		all[i] = append(all[i], r)
	}
	return all
}

// label returns the variant of a row and what else distinguishes it.
func (r row) label() string { return strings.TrimSpace(r.variant + " " + r.parameters) }

func variantsOf(load []row) []string {
	var all []string
	for _, r := range load {
		if !slices.Contains(all, r.label()) {
			all = append(all, r.label())
		}
	}
	return all
}

// sentence compares all variants of a load, except those whose last row is not comparable.
func sentence(load []row, variants []string) string {
	var fit, clauses []string
	for _, v := range variants {
		if last := lastOf(load, v); last.disqualified() == "" {
			fit = append(fit, v)
		} else {
			clauses = append(clauses, fmt.Sprintf("%s is not comparable: it %s at %s", v, last.disqualified(), last.contended()))
		}
	}
	if len(fit) > 1 {
		clauses = append([]string{newTournament(load, fit).conclusions()}, clauses...)
	}
	return strings.Join(clauses, "; ") + "." + flawed(load, variants)
}

// flawed names the variants with known flaws.
func flawed(load []row, variants []string) (text string) {
	for _, v := range variants {
		if last := lastOf(load, v); last.isUnsafe() {
			text += fmt.Sprintf(" %s is kept as published, with known defects: do not use it, however fast it is.", v)
		}
	}
	return text
}

// isUnsafe reports whether the variant has known flaws.
func (r row) isUnsafe() bool {
	return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return c.Unsafe })
}

// lastOf returns the row of a variant with the most contenders.
func lastOf(load []row, variant string) row {
	var last row
	for _, r := range load {
		if r.label() == variant && r.contenders() >= last.contenders() {
			last = r
		}
	}
	return last
}

// pairsOf pairs the rows of a and b at every number of contenders that both have, fewest first.
func pairsOf(load []row, a, b string) [][2]row {
	var pairs [][2]row
	for _, x := range load {
		for _, y := range load {
			if x.label() == a && y.label() == b && x.sessions == y.sessions && x.contenders() == y.contenders() {
				pairs = append(pairs, [2]row{x, y})
			}
		}
	}
	slices.SortStableFunc(pairs, func(p, q [2]row) int { return cmp.Compare(p[0].contenders(), q[0].contenders()) })
	return pairs
}

// what names what the row counts.
func (r row) what() string {
	return r.unit()
}

// timed names what the p50 and the tail measure.
func (r row) timed() string {
	for _, m := range r.shown() {
		if m.Timed && m.Role == results.RolePart {
			return "time from " + strings.ReplaceAll(m.Op, "-", " ")
		}
	}
	return "response"
}

// who names the contenders, such as the sessions of a lock.
func (r row) who() string {
	switch {
	case r.givesGrants():
		return "contenders"
	case len(r.own) > 0 && r.own[0].Role == results.RoleContenders:
		return r.own[0].Unit + "s"
	}
	return "sessions per object"
}

// contended says how many contend.
func (r row) contended() string {
	if r.contenders() == 1 {
		return "1 " + strings.Replace(r.who(), "s", "", 1)
	}
	return number(r.contenders()) + " " + r.who()
}

// andAbove says how many contend, and that the same holds for every larger number up to that of the last row.
func (r row) andAbove(last row) string {
	if r.contenders() == last.contenders() {
		return r.contended()
	}
	return r.contended() + " and above"
}

// times formats a factor with two significant digits.
func times(f float64) string {
	switch {
	case f < 1.1:
		return fmt.Sprintf("%.2f", f)
	case f < 9.95:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}
