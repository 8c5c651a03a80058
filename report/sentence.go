package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// nominal is the difference that counts as one where there is a single repetition, and so no spread to hold it against.
const nominal = 0.10

// maxErrorGap is by how much the shares of failed operations may differ between two rows that are compared.
const maxErrorGap = 0.01

// outcome of comparing two rows at one number of contenders.
type outcome uint8

const (
	notComparable outcome = iota
	noDifference
	better
	worse
	mixed // more grants, longer hand-off; or the other way round
)

// sentences says for each load of a workload from how many contenders on which variant was ahead, and by what factor. It is
// empty where there is one variant only.
func sentences(rows []row) []string {
	var all []string
	for _, load := range loads(rows) {
		variants := variantsOf(load)
		if len(variants) < 2 {
			continue
		}
		text := sentence(load, variants)
		if load[0].readers != "" {
			text = fmt.Sprintf("With %s %% readers: %s", load[0].readers, text)
		}
		if load[0].offered > 0 {
			text = fmt.Sprintf("At a rate of %s/s: %s", number(load[0].offered), text)
		}
		all = append(all, text)
	}
	return all
}

// loads are the rows that differ in variant and contenders only.
func loads(rows []row) [][]row {
	var all [][]row
	for _, r := range rows {
		i := slices.IndexFunc(all, func(load []row) bool {
			return load[0].workload == r.workload && load[0].offered == r.offered && load[0].loop == r.loop && load[0].objects == r.objects &&
				load[0].readers == r.readers && load[0].burden == r.burden
		})
		if i < 0 {
			all = append(all, nil)
			i = len(all) - 1
		}
		all[i] = append(all[i], r)
	}
	return all
}

// label is the variant of a row, with what else sets it apart.
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

// sentence compares the winner at the largest number of contenders with every other variant, apart from those whose last row
// may not be compared with anything.
func sentence(load []row, variants []string) string {
	var fit, clauses []string
	for _, v := range variants {
		if last := lastOf(load, v); last.disqualified() == "" {
			fit = append(fit, v)
		} else {
			clauses = append(clauses, fmt.Sprintf("%s is not comparable: it %s at %s", v, last.disqualified(), last.contended()))
		}
	}
	all := newTournament(load, fit)
	if all.conclusive() {
		text := strings.Join(append([]string{all.conclusions(load, fit)}, clauses...), "; ") + "."
		return text + flawed(load, variants)
	}
	if len(fit) > 1 {
		winner := winnerOf(load, fit)
		var duels []string
		for _, other := range fit {
			if other != winner {
				duels = append(duels, duel(load, winner, other))
			}
		}
		clauses = append(duels, clauses...)
	}
	text := strings.Join(clauses, "; ") + "."
	if len(fit) > 1 && slices.ContainsFunc(load, func(r row) bool { return r.grants.known && r.grants.of < 2 }) {
		text += fmt.Sprintf(" With one repetition the spread is unknown: differences below %.0f %% are ignored.", 100*nominal)
	}
	text += flawed(load, variants)
	if len(fit) > 1 {
		runs := load[0].grants.of
		for _, r := range load {
			runs = min(runs, r.grants.of)
		}
		text += fmt.Sprintf(" No conclusion from %s of each: fewer than %d cannot tell a difference from chance.", phrase.Count(max(runs, 1), "run"), all.design.MinRuns())
	}
	return text
}

// flawed names the variants that have faults that are known.
func flawed(load []row, variants []string) (text string) {
	for _, v := range variants {
		if last := lastOf(load, v); last.isUnsafe() {
			text += fmt.Sprintf(" %s is kept as published, with known defects: do not use it, however fast it is.", v)
		}
	}
	return text
}

// isUnsafe says whether the variant has faults that are known.
func (r row) isUnsafe() bool {
	return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return c.Unsafe })
}

// lastOf is the row of a variant with the most contenders.
func lastOf(load []row, variant string) row {
	var last row
	for _, r := range load {
		if r.label() == variant && r.contenders() >= last.contenders() {
			last = r
		}
	}
	return last
}

// winnerOf is the variant that is better than the most others at the largest number of contenders that both have; of equals
// the one with more grants per second.
func winnerOf(load []row, variants []string) string {
	score := func(v string) (wins int, grants float64) {
		for _, other := range variants {
			if pairs := pairsOf(load, v, other); other != v && len(pairs) > 0 {
				last := pairs[len(pairs)-1]
				if result, _ := compare(last[0], last[1]); result == better {
					wins++
				}
				grants = last[0].grants.value
			}
		}
		return wins, grants
	}
	return slices.MaxFunc(variants, func(a, b string) int {
		winsA, grantsA := score(a)
		winsB, grantsB := score(b)
		return cmp.Or(cmp.Compare(winsA, winsB), cmp.Compare(grantsA, grantsB))
	})
}

// pairsOf are the rows of a and b at every number of contenders that both have, fewest first.
func pairsOf(load []row, a, b string) [][2]row {
	var pairs [][2]row
	for _, x := range load {
		for _, y := range load {
			if x.label() == a && y.label() == b && x.sessions == y.sessions && x.participants == y.participants {
				pairs = append(pairs, [2]row{x, y})
			}
		}
	}
	slices.SortStableFunc(pairs, func(p, q [2]row) int { return cmp.Compare(p[0].contenders(), q[0].contenders()) })
	return pairs
}

// duel says how a stands to b, judged from the largest number of contenders down: a wins 'from N on' if it wins at N and at
// every larger N that was measured.
func duel(load []row, a, b string) string {
	pairs := pairsOf(load, a, b)
	if len(pairs) == 0 {
		return fmt.Sprintf("%s and %s were not measured with the same number of %s", a, b, load[0].who())
	}
	last := pairs[len(pairs)-1]
	at := last[0].contended()
	switch result, why := compare(last[0], last[1]); result {
	case notComparable:
		return fmt.Sprintf("%s and %s are not comparable at %s: %s", a, b, at, why)
	case noDifference:
		return fmt.Sprintf("%s and %s: no difference beyond the spread at %s", a, b, at)
	case mixed:
		if last[0].offered > 0 {
			return fmt.Sprintf("neither %s nor %s was ahead at %s: one has the shorter %s, the other the shorter hand-off", a, b, at, last[0].timed())
		}
		return fmt.Sprintf("neither %s nor %s was ahead at %s: one has more %s per second, the other the shorter hand-off", a, b, at, last[0].what())
	case worse:
		a, b, last = b, a, [2]row{last[1], last[0]}
		for i, pair := range pairs {
			pairs[i] = [2]row{pair[1], pair[0]}
		}
	}
	from := last[0]
	for _, pair := range slices.Backward(pairs) {
		if result, _ := compare(pair[0], pair[1]); result != better {
			break
		}
		from = pair[0]
	}
	text := fmt.Sprintf("%s was ahead of %s at %s: %s", a, b, from.andAbove(last[0]), factors(last[0], last[1]))
	if from.contenders() != last[0].contenders() {
		text += " at " + number(last[0].contenders())
	}
	if ahead, behind := last[0].p99, last[1].p99; ahead.known && behind.known && ahead.value > behind.value {
		text += fmt.Sprintf(", but a longer p99 of the %s, %s against %s ms", last[0].timed(), ahead.digits(2), behind.digits(2))
	}
	if last[0].saturated() || last[1].saturated() {
		text += " (but zkbench itself was the bottleneck: this does not measure the servers)"
	} else if last[0].late() || last[1].late() {
		text += " (but the machine was late: this does not measure the servers alone)"
	}
	return text
}

// what a row counts.
func (r row) what() string {
	return r.unit()
}

// timed is what p50 and the tail are of.
func (r row) timed() string {
	for _, m := range r.shown() {
		if m.Timed && m.Role == results.RolePart {
			return "time from " + strings.ReplaceAll(m.Op, "-", " ")
		}
	}
	return "response"
}

// who does it: the sessions of a lock contend.
func (r row) who() string {
	switch {
	case r.givesGrants():
		return "contenders"
	case r.participants > 0:
		return "participants"
	}
	return "sessions per object"
}

// contended is how many do it.
func (r row) contended() string {
	if r.contenders() == 1 {
		return "1 " + strings.Replace(r.who(), "s", "", 1)
	}
	return number(r.contenders()) + " " + r.who()
}

// andAbove is how many do it, and that the same is true of every larger number up to that of the last row.
func (r row) andAbove(last row) string {
	if r.contenders() == last.contenders() {
		return r.contended()
	}
	return r.contended() + " and above"
}

// factors by which a is better than b.
func factors(a, b row) string {
	var words []string
	switch {
	case a.offered > 0 && beyond(b.p50, a.p50) > 0 && a.p50.value > 0:
		words = append(words, "a "+times(b.p50.value/a.p50.value)+" times shorter "+a.timed())
	case a.offered > 0:
		words = append(words, "the same "+a.timed()+" within the spread")
	case beyond(a.grants, b.grants) > 0 && b.grants.value > 0:
		words = append(words, times(a.grants.value/b.grants.value)+" times the "+a.what()+" per second")
	default:
		words = append(words, "the same "+a.what()+" per second within the spread")
	}
	if a.handOff.known && b.handOff.known {
		if beyond(b.handOff, a.handOff) > 0 && a.handOff.value > 0 {
			words = append(words, "a "+times(b.handOff.value/a.handOff.value)+" times shorter hand-off")
		} else {
			words = append(words, "the same hand-off within the spread")
		}
	}
	return strings.Join(words, " and ")
}

// times writes a factor with two digits.
func times(f float64) string {
	switch {
	case f < 1.1:
		return fmt.Sprintf("%.2f", f)
	case f < 9.95:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}
