package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

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

// sentences says for each load of a workload from how many contenders on which variant wins, and by what factor. It is
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
			text = fmt.Sprintf("At %s/s offered: %s", number(load[0].offered), text)
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
			clauses = append(clauses, fmt.Sprintf("%s is not comparable: it %s at %s", v, last.disqualified(), last.crowd()))
		}
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
		text += fmt.Sprintf(" With one repetition the spread is not known: a difference below %.0f %% counts as none.", 100*nominal)
	}
	for _, v := range variants {
		if last := lastOf(load, v); last.isUnsafe() {
			text += fmt.Sprintf(" %s is kept as it was published, with faults that are known: it is no choice, whatever its speed.", v)
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
				grants = last[0].grants.median
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
	at := last[0].crowd()
	switch result, why := compare(last[0], last[1]); result {
	case notComparable:
		return fmt.Sprintf("%s and %s are not comparable at %s: %s", a, b, at, why)
	case noDifference:
		return fmt.Sprintf("%s and %s: no difference beyond the spread at %s", a, b, at)
	case mixed:
		return fmt.Sprintf("neither %s nor %s wins at %s: one has more %s per second, the other the shorter hand-off", a, b, at, last[0].what())
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
	text := fmt.Sprintf("%s beats %s from %s on: %s at %s", a, b, from.crowd(), factors(last[0], last[1]), number(last[0].contenders()))
	if last[0].saturated() || last[1].saturated() {
		text += " (where zkbench itself was the bottleneck, so the factor is not of the servers)"
	}
	return text
}

// what a row counts.
func (r row) what() string {
	if r.givesGrants() {
		return "grants"
	}
	return "operations"
}

// who does it: the sessions of a lock contend.
func (r row) who() string {
	switch {
	case r.givesGrants():
		return "contenders"
	case r.participants > 0:
		return "participants"
	}
	return "sessions an object"
}

// crowd is how many do it.
func (r row) crowd() string { return number(r.contenders()) + " " + r.who() }

// factors by which a is better than b.
func factors(a, b row) string {
	var words []string
	switch {
	case beyond(a.grants, b.grants) > 0 && b.grants.median > 0:
		words = append(words, times(a.grants.median/b.grants.median)+" times the "+a.what()+" per second")
	default:
		words = append(words, "the same "+a.what()+" per second within the spread")
	}
	if a.handOff.known && b.handOff.known {
		if beyond(b.handOff, a.handOff) > 0 && a.handOff.median > 0 {
			words = append(words, "a "+times(b.handOff.median/a.handOff.median)+" times shorter hand-off")
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

// compare says how a stands to b on grants per second and hand-off, or why the two are not comparable.
func compare(a, b row) (outcome, string) {
	if a.cells[0].Parameters["failover"] == "crash" {
		return notComparable, "after a crash nearly all of the hand-off is the session timeout, and the rate follows from it"
	}
	for _, r := range []row{a, b} {
		if why := r.disqualified(); why != "" {
			return notComparable, r.label() + " " + why
		}
	}
	if shareA, shareB := a.errorShare(), b.errorShare(); math.Abs(shareA-shareB) > maxErrorGap {
		return notComparable, fmt.Sprintf("%.1f %% of the operations of %s failed and %.1f %% of those of %s", 100*shareA, a.label(),
			100*shareB, b.label())
	}
	grants, handOff := beyond(a.grants, b.grants), 0
	if a.handOff.known && b.handOff.known {
		handOff = beyond(b.handOff, a.handOff) // the shorter is the better
	}
	switch {
	case grants*handOff < 0:
		return mixed, ""
	case grants+handOff > 0:
		return better, ""
	case grants+handOff < 0:
		return worse, ""
	}
	return noDifference, ""
}

// beyond is 1 if a lies above b beyond the spread, -1 if below, 0 if neither: the ranges of the repetitions must not meet.
// A figure of one repetition gets the nominal range.
func beyond(a, b figure) int {
	widen := func(f figure) (low, high float64) {
		if f.of >= 2 {
			return f.lowest, f.highest
		}
		half := f.median * nominal / 2
		return f.median - half, f.median + half
	}
	lowA, highA := widen(a)
	lowB, highB := widen(b)
	switch {
	case lowA > highB:
		return 1
	case highA < lowB:
		return -1
	}
	return 0
}

// disqualified is why no number of the row may be compared, as the end of a sentence; empty if they may.
func (r row) disqualified() string {
	for _, c := range r.cells {
		for _, check := range c.Checks {
			if check.Verdict == "violated" {
				return "violated " + check.Name
			}
		}
	}
	switch {
	case !r.grants.known || r.grants.median == 0:
		return map[bool]string{true: "was granted nothing", false: "did nothing"}[r.givesGrants()]
	case r.partial():
		return "was cut short"
	}
	return ""
}

// errorShare of the operations of all repetitions.
func (r row) errorShare() float64 {
	var operations int64
	for _, c := range r.cells {
		operations += c.Operations
	}
	if operations+r.errors == 0 {
		return 0
	}
	return float64(r.errors) / float64(operations+r.errors)
}

func (r row) saturated() bool {
	return slices.ContainsFunc(r.cells, func(c results.Cell) bool { return c.Generator.Saturated })
}
