package check_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
)

var (
	histories = flag.Int("histories", 200, "how many random histories of each kind TestTruth judges")
	first     = flag.Uint64("seed", 1, "the seed of the first of them")
)

// kind is one primitive: recipes that keep its promises, and recipes that break them.
type kind struct {
	name string
	// recipes are those that keep all promises; defects are what can be wrong with any of them.
	recipes, defects []string
	// play starts the clients.
	play func(w *world)
	// promises returns the checks of the primitive, with the truth about each.
	promises func(w *world) []promise
}

// promise is a check, and the truth about what it judges.
type promise struct {
	check.Check
	broken bool // broken in a way that the history of one process shows
	across bool // broken in a way for which several hosts must not answer Holds
	open   bool // several hosts may not know, even if nothing was lost
}

var kinds []kind

// setting holds the circumstances of a history, drawn from its seed.
type setting struct {
	kind           string
	recipe, defect string
	often          float64 // share of the occasions on which the defect shows
	hosts, seats   int
	objects        int
	length         time.Duration // of the load
	travel         time.Duration // maximum for a message; a slow one takes 20 times that
	slow           float64
	hold, gap      time.Duration
	deadline       time.Duration // of an attempt; 0: none
	timeout        time.Duration // of sessions
	breaks         time.Duration // a connection breaks after up to this; 0: never
	long           float64       // share of the breaks that are long
	lose           float64       // share of the requests or replies that are lost
	expiry         float64       // share of the sessions that are expired on purpose
	before39       bool          // events have no transaction
	blind          bool          // no engine reports transactions
	clocks         []clock
	cuts           []float64 // share of each host's history that is kept
	permits        int
	ends           bool // a leader's session ends with its term
}

// calm reports whether nothing happens that can leave a transaction unknown.
func (s *setting) calm() bool {
	return s.breaks == 0 && s.lose == 0 && s.expiry == 0 && s.deadline == 0 && !s.ends && !s.before39 && !s.blind
}

// clock is the clock of a host.
type clock struct {
	ahead time.Duration
	rate  float64
}

const ms = time.Millisecond

// draw makes a world from a seed.
func draw(k kind, seed uint64) *world {
	h := fnv.New64a()
	h.Write([]byte(k.name))
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	some := func(p float64, do func()) {
		if r.Float64() < p {
			do()
		}
	}
	set := setting{recipe: k.recipes[r.IntN(len(k.recipes))], hosts: 1 + r.IntN(3), seats: 2 + r.IntN(5), objects: 1, permits: 2 + r.IntN(2), kind: k.name,
		length: time.Duration(20+r.IntN(100)) * ms, travel: time.Duration(50+r.IntN(1000)) * time.Microsecond, hold: time.Duration(1+r.IntN(5000)) * time.Microsecond,
		gap: time.Duration(1+r.IntN(5000)) * time.Microsecond, timeout: time.Duration(20+r.IntN(40)) * ms}
	some(.5, func() { set.defect, set.often = k.defects[r.IntN(len(k.defects))], .01+.5*r.Float64()*r.Float64() })
	some(.2, func() { set.objects = 2 })
	some(.3, func() { set.slow = .05 })
	some(.3, func() { set.deadline = time.Duration(2+r.IntN(20)) * ms })
	some(.3, func() { set.breaks = set.length })
	some(.5, func() { set.long = .3 })
	some(.4, func() { set.lose = .08 * r.Float64() })
	some(.2, func() { set.expiry = .4 })
	some(.3, func() { set.before39 = true })
	some(.03, func() { set.blind = true })
	some(.3, func() { set.ends = true })
	switch set.defect { // defects that need more to show
	case "holds on": // a session that is lost while it holds, and a session that is granted then
		set.often, set.long, set.hold, set.length = .3+.7*r.Float64(), .8, 3*set.timeout, set.length+6*set.timeout
		set.breaks, set.gap = set.length/2, min(set.gap, ms)
		some(.3, func() { set.expiry = .6 })
	case "does not catch up": // a server that lags
		set.often = .3 + .7*r.Float64()
	}
	cut := r.IntN(4) == 0
	for i := range set.hosts {
		set.clocks = append(set.clocks, clock{time.Duration(i) * time.Duration(r.Int64N(int64(5*time.Hour))), float64(i) * 400e-6 * (r.Float64() - .5)})
		set.cuts = append(set.cuts, 1)
		if cut && set.hosts > 1 && r.IntN(2) == 0 {
			set.cuts[i] = r.Float64()
		}
	}
	w := &world{set: set, r: r, zxid: firstZxid, hosts: make([][]metrics.Sample, set.hosts), znodes: make([][]*znode, 4)}
	stale := []time.Duration{0, set.travel, 10 * set.travel, 20 * ms}
	for range 1 + r.IntN(3) {
		w.servers = append(w.servers, &server{lag: stale[r.IntN(len(stale))]})
	}
	if set.defect == "does not catch up" {
		w.servers = append(w.servers, &server{lag: 20 * ms})
	}
	return w
}

// TestTruth judges random histories of recipes that are sound or broken, in a model that knows which promises were kept. The promise of a sound recipe is
// never violated. A broken one is violated in the history of one process and does not hold in those of several hosts, where it is violated too if nothing was
// lost that could show it. Each history follows from its kind and its seed.
//
//	go test ./check -run TestTruth -histories 100000                many more
//	go test ./check -run TestTruth/mutex -histories 1 -seed 17 -v   one of them, with all that was recorded
func TestTruth(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			figures, wrong, seenBefore := map[string]*tally{}, map[string]int{}, map[string]bool{}
			had, promises := reach{}, map[string]promise{}
			for seed := *first; seed < *first+uint64(*histories); seed++ {
				w := draw(k, seed)
				k.play(w)
				w.run()
				verdicts := w.judge(k.promises)
				had.add(w, verdicts)
				for _, p := range k.promises(w) {
					promises[p.Name] = p
				}
				for _, v := range verdicts {
					if figures[v.of] == nil {
						figures[v.of] = &tally{}
					}
					figures[v.of][v.Answer]++
					if v.wrong == "" {
						continue
					}
					wrong[v.of]++
					if seen := v.of + v.wrong; !seenBefore[seen] {
						seenBefore[seen] = true
						t.Errorf("%s: %v, want %s: %s\n%s%+v\ngo test ./check -run 'TestTruth/%s$' -histories 1 -seed %d -v", v.of, v.Answer, v.wrong, v.Detail, show(v.Witness), w.set,
							k.name, seed)
					}
				}
				if *histories == 1 {
					t.Logf("%+v\n%s", w.set, show(inOrder(w.all)))
				}
			}
			if *histories >= 200 && *first == 1 {
				had.covers(t, k.want(promises))
			}
			if !testing.Verbose() {
				return
			}
			for _, of := range slices.Sorted(maps.Keys(figures)) {
				f := figures[of]
				t.Logf("%-60s %6d hold %6d unknown %6d violated %6d wrong verdicts", of, f[check.Holds], f[check.Unknown], f[check.Violated], wrong[of])
			}
		})
	}
}

// tally counts answers.
type tally [3]int

// verdict is one verdict and, if it is wrong, what the answer should have been.
type verdict struct {
	check.Verdict
	of, wrong string
}

// judge judges a history, as that of one process and as those of several hosts, and compares the verdicts with the truth.
func (w *world) judge(promises func(*world) []promise) (all []verdict) {
	one, hosts := []check.Host{{Name: "the process", History: slices.Values(inOrder(w.all))}}, w.across()
	cut := slices.ContainsFunc(hosts, func(h check.Host) bool { return h.Cut })
	where := map[bool]string{false: "several hosts", true: "several hosts, cut"}[cut]
	for _, p := range promises(w) {
		add := func(v check.Verdict, in []check.Host, where, wrong string) {
			if wrong == "" {
				wrong = unfounded(v, in)
			}
			all = append(all, verdict{v, p.Name + " " + w.state(p) + ", " + where, wrong})
		}
		own, _ := p.JudgeAcross(one, nil)
		add(own, one, "one process", w.wrongOfOne(p, own.Answer))
		v, judged := p.JudgeAcross(hosts, nil)
		if !judged || len(hosts) == 1 {
			continue
		}
		if cut && v.Answer == check.Holds && !p.Left {
			v.Answer = check.Unknown // as a merge says
		}
		add(v, hosts, where, w.wrongOfSeveral(p, v.Answer, own.Answer, w.set.calm() && !cut))
	}
	return all
}

// state says what became of a promise.
func (w *world) state(p promise) string {
	switch {
	case p.broken:
		return "broken"
	case w.wrong > 0:
		return "kept by luck"
	}
	return "kept"
}

// wrongOfOne returns what one process should have answered; "" if it did.
func (w *world) wrongOfOne(p promise, got check.Answer) string {
	switch {
	case p.broken && w.wrong == 0:
		return "a model in which a sound recipe keeps its promise"
	case p.broken && got != check.Violated:
		return "violated"
	case w.wrong == 0 && got == check.Violated:
		return "not violated"
	}
	return ""
}

// wrongOfSeveral returns what several hosts should have answered, given the answer of one process; "" if they did. sure: nothing hides the truth from them.
func (w *world) wrongOfSeveral(p promise, got, one check.Answer, sure bool) string {
	switch {
	case w.wrong == 0 && got == check.Violated:
		return "not violated"
	case sure && w.wrong == 0 && one == check.Holds && got != check.Holds:
		return "holds, as in one process"
	case sure && p.across && !p.open && got != check.Violated:
		return "violated"
	case p.across && got == check.Holds:
		return "violated or unknown"
	}
	return ""
}

// unfounded returns what a verdict lacks.
func unfounded(v check.Verdict, in []check.Host) string {
	switch {
	case (v.Answer == check.Violated) != (len(v.Witness) > 0 && v.Count > 0):
		return "a counterexample, if it is violated"
	case v.Answer == check.Holds && v.Evidence == 0:
		return "evidence, if it holds"
	case slices.ContainsFunc(v.Witness, func(s metrics.Sample) bool { return !slices.ContainsFunc(in, recorded(s)) }):
		return "a counterexample that was recorded"
	}
	return ""
}

// recorded returns a function that reports whether a host has recorded a sample.
func recorded(s metrics.Sample) func(check.Host) bool {
	return func(h check.Host) bool {
		for r := range h.History {
			if r == s {
				return true
			}
		}
		return false
	}
}

// show writes samples, one per line.
func show(samples []metrics.Sample) string {
	var b strings.Builder
	for _, s := range samples {
		zxid := s.Zxid
		if zxid > 0 {
			zxid -= firstZxid
		} else if zxid < 0 {
			zxid += firstZxid
		}
		token := s.Token
		if token >= firstZxid {
			token -= firstZxid
		}
		fmt.Fprintf(&b, "\t%-12v %-8v session %d object %d: %v to %v, token %d, zxid %d, value %d\n", s.Op, s.Outcome, s.Session, s.Object, s.Start, s.End, token, zxid, s.Value)
	}
	return b.String()
}
