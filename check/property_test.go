package check

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

const bound = 50 * ms // above every gap of a valid history

// validHistory returns the history of a first-come, first-served lock: attempts queue one after the other, and each is granted after the one before it has
// released.
func validHistory(r *rand.Rand, sessions, objects, attempts int) []metrics.Sample {
	var h []metrics.Sample
	upTo := func(limit time.Duration) time.Duration { return time.Duration(r.Int64N(int64(limit))) }
	next := make([]time.Duration, sessions) // when each session asks again
	for i := range next {
		next[i] = upTo(20 * ms)
	}
	free := make([]time.Duration, objects)
	placed := make([]time.Duration, objects)
	for i := range attempts {
		s := slices.Index(next, slices.Min(next))
		o := r.IntN(objects)
		at := func(op metrics.Op, start, end time.Duration) metrics.Sample {
			return metrics.Sample{Op: op, Session: uint32(s), Object: uint32(o), Due: start, Start: start, End: end}
		}
		e := at(metrics.Enqueue, max(next[s]+upTo(ms), placed[o]), 0)
		e.End = e.Start + upTo(2*ms)
		placed[o] = e.Start + 1
		a := at(metrics.Acquire, next[s], max(e.End, free[o])+upTo(3*ms))
		e.Token, e.Zxid, a.Token = int64(i+1), int64(i+1), int64(i+1)
		held := a.End + upTo(5*ms)
		rel := at(metrics.Release, held, held+upTo(2*ms))
		if r.IntN(20) == 0 {
			rel.Outcome, rel.End = metrics.Lost, rel.Start
		}
		free[o] = held + upTo(rel.End-held+1) // the servers apply the release while it is in flight
		next[s] = rel.End + upTo(30*ms)
		h = append(h, e, a, rel)
	}
	for o := range objects {
		h = append(h, metrics.Sample{Op: metrics.Left, Object: uint32(o), Start: slices.Max(next), End: slices.Max(next)})
	}
	r.Shuffle(len(h), func(i, j int) { h[i], h[j] = h[j], h[i] })
	return h
}

// grantsOf returns the indices of the grants of an object that has at least two, in order of time.
func grantsOf(r *rand.Rand, h []metrics.Sample) []int {
	for {
		object := h[r.IntN(len(h))].Object
		var at []int
		for i, s := range h {
			if s.Op == metrics.Acquire && s.Object == object {
				at = append(at, i)
			}
		}
		if len(at) >= 2 {
			slices.SortFunc(at, func(i, j int) int { return cmp.Compare(h[i].End, h[j].End) })
			return at
		}
	}
}

// planting plants a violation of a check.
type planting struct {
	check Check
	plant func(r *rand.Rand, h []metrics.Sample)
}

// planted plants one violation into a valid history, for the checks that TestTruth does not cover, and for FIFO in TestDiskAndMemoryJudgeAlike.
var planted = []planting{
	{FIFO(), func(r *rand.Rand, h []metrics.Sample) { // the first is granted after the last
		g := grantsOf(r, h)
		first, last := g[0], g[len(g)-1]
		for i, s := range h { // and queued before the last came; it belongs to another session, which can wait meanwhile
			if s.Op == metrics.Enqueue && s.Token == h[first].Token {
				h[i].Start, h[i].End, h[i].Session = h[first].Start, h[first].Start, 1000
			}
			if s.Op == metrics.Enqueue && s.Token == h[last].Token {
				h[i].Start = max(s.Start, h[first].Start+1)
				h[i].End = max(s.End, h[i].Start)
			}
		}
		h[first].Session, h[first].End = 1000, h[last].End+1
	}},
	{NothingLeft(), func(r *rand.Rand, h []metrics.Sample) {
		h[slices.IndexFunc(h, func(s metrics.Sample) bool { return s.Op == metrics.Left })].Outcome = metrics.Failed
	}},
	{Liveness(bound), func(r *rand.Rand, h []metrics.Sample) { // the object is free for twice the bound
		g := grantsOf(r, h)
		cut, object := h[g[r.IntN(len(g))]].End, h[g[0]].Object
		for i, s := range h {
			if s.Object != object {
				continue
			}
			if s.Start >= cut {
				h[i].Start += 2 * bound
			}
			if s.Start >= cut || s.Op != metrics.Release && s.End >= cut { // a release in flight still gets its reply
				h[i].End += 2 * bound
			}
		}
	}},
}

func TestValidHistoriesHoldAndPlantedViolationsAreFound(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		objects, n := 1+r.IntN(3), 10+r.IntN(200)
		h := validHistory(r, 2+r.IntN(10), objects, n)
		evidence := map[string]int{"liveness": n, "nothing-left": objects}
		for _, f := range planted {
			v := f.check.Judge(slices.Values(h), nil)
			if v.Answer != Holds || v.Count != 0 || v.Witness != nil {
				t.Fatalf("seed %d: %s of a valid history = %v: %s %v", seed, f.check.Name, v.Answer, v.Detail, v.Witness)
			}
			if want, known := evidence[f.check.Name]; known && v.Evidence != want {
				t.Fatalf("seed %d: %s has evidence %d of %d attempts, want %d", seed, f.check.Name, v.Evidence, n, want)
			}
			bad := slices.Clone(h)
			f.plant(r, bad)
			v = f.check.Judge(slices.Values(bad), nil)
			if v.Answer != Violated || v.Count < 1 || len(v.Witness) < 1 || v.Detail == "" {
				t.Fatalf("seed %d: %s of a history with a planted violation = %v: %s", seed, f.check.Name, v.Answer, v.Detail)
			}
			for _, w := range v.Witness {
				if !slices.Contains(bad, w) {
					t.Fatalf("seed %d: the counterexample %v of %s is not in the history", seed, w, f.check.Name)
				}
			}
		}
	}
}

// The checks agree with literal, quadratic implementations of their definitions on small nonsensical histories.
func TestChecksAgreeWithTheirDefinitions(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 2))
		h := nonsense(r, 1+r.IntN(12))
		for _, tc := range []struct {
			check Check
			want  int
		}{
			{MutualExclusion(), exclusionByDefinition(h)},
			{TokenOrder(), tokensByDefinition(h)},
			{FIFO(), fifoByDefinition(h)},
			{Liveness(3), livenessByDefinition(h, 3)},
		} {
			v := tc.check.Judge(slices.Values(h), nil)
			if v.Count != tc.want || (v.Answer == Violated) != (tc.want > 0) {
				t.Fatalf("seed %d: %s = %v, %d times (%s), want %d\n%v", seed, tc.check.Name, v.Answer, v.Count, v.Detail, tc.want, h)
			}
		}
		if got, want := fairness(slices.Values(h), nil).Overtakes, overtakesByDefinition(h); got != want {
			t.Fatalf("seed %d: %d overtakes, want %d\n%v", seed, got, want, h)
		}
	}
}

func nonsense(r *rand.Rand, n int) []metrics.Sample {
	var h []metrics.Sample
	for range n {
		start := time.Duration(r.IntN(20))
		s := metrics.Sample{Op: []metrics.Op{metrics.Acquire, metrics.Acquire, metrics.Release, metrics.Enqueue}[r.IntN(4)], Session: r.Uint32N(3),
			Object: r.Uint32N(2), Token: r.Int64N(4), Start: start, End: start + time.Duration(r.IntN(9))}
		s.Due = s.Start
		if r.IntN(6) == 0 {
			s.Outcome = metrics.Outcome(r.IntN(metrics.Outcomes))
		}
		h = append(h, s)
	}
	return h
}

// spansOf returns the spans of a history in order of time.
func spansOf(h []metrics.Sample, of ...pairs) []span {
	held := spans(slices.Values(h), nil, of...)
	return slices.Collect(held.all())
}

func exclusionByDefinition(h []metrics.Sample) int {
	held := spansOf(h, locked)
	intruders := 0
	for i, a := range held {
		for j, b := range held {
			earlier := b.from < a.from || b.from == a.from && (b.to < a.to || b.to == a.to && j < i)
			if i != j && a.object == b.object && earlier && b.to > a.from {
				intruders++
				break
			}
		}
	}
	return intruders
}

func tokensByDefinition(h []metrics.Sample) int {
	n := 0
	for i, b := range h {
		if b.Op != metrics.Acquire || b.Outcome != metrics.OK || b.Token == 0 {
			continue
		}
		for j, a := range h {
			if i != j && a.Op == metrics.Acquire && a.Outcome == metrics.OK && a.Object == b.Object &&
				(a.End < b.End && a.Token >= b.Token || a.End == b.End && a.Token == b.Token && j < i) {
				n++
				break
			}
		}
	}
	return n
}

func fifoByDefinition(h []metrics.Sample) int {
	n := 0
	all := slices.Collect(attemptsOf(metrics.Acquire, slices.Values(h), nil, false).All())
	for _, b := range all {
		if slices.ContainsFunc(all, func(a attempt) bool {
			return a.enqueued.Op != 0 && b.enqueued.Op != 0 && a.granted.Object == b.granted.Object &&
				a.enqueued.End < b.enqueued.Start && a.granted.End > b.granted.End
		}) {
			n++
		}
	}
	return n
}

func overtakesByDefinition(h []metrics.Sample) int {
	n := 0
	all := slices.Collect(attemptsOf(metrics.Acquire, slices.Values(h), nil, false).All())
	for _, a := range all {
		for _, b := range all {
			if a.granted.Object == b.granted.Object && a.placed() < b.came() && b.granted.End < a.granted.End {
				n++
			}
		}
	}
	return n
}

// livenessByDefinition looks at every unit of time [t, t+1): a session waits and none holds.
func livenessByDefinition(h []metrics.Sample, bound int) int {
	n := 0
	held := spansOf(h, locked)
	for object := range uint32(2) {
		run := 0
		for t := time.Duration(0); t < 40; t++ {
			waits := slices.ContainsFunc(h, func(s metrics.Sample) bool {
				return s.Object == object && s.Op == metrics.Acquire && (waited(s.Outcome) || s.Service() > time.Duration(bound)) && s.Start <= t && t < s.End
			})
			holds, granted := false, false
			for _, s := range held {
				to := s.to
				if s.ended() && s.end.Outcome != metrics.Lost {
					to = max(to, s.end.End)
				}
				holds = holds || s.object == object && s.from <= t && t < to
				granted = granted || s.object == object && s.from == t
			}
			if granted || holds || !waits {
				run = 0
			}
			if waits && !holds {
				run++
				if run == bound+1 {
					n++
				}
			}
		}
	}
	return n
}

// FuzzChecks tests that every check answers, whatever the samples are, and that a violation comes with a counterexample.
func FuzzChecks(f *testing.F) {
	f.Add([]byte{1, 0, 1, 0, 1, 0, 5, 2, 0, 1, 0, 0, 9, 11, 1, 0, 2, 0, 1, 3, 6})
	f.Fuzz(func(t *testing.T, data []byte) {
		var h []metrics.Sample
		for ; len(data) >= 7; data = data[7:] {
			s := metrics.Sample{Op: metrics.Op(data[0]), Outcome: metrics.Outcome(data[1]), Session: uint32(data[2] % 4), Object: uint32(data[3] % 2),
				Token: int64(int8(data[4])), Value: int64(data[2] >> 5), Start: time.Duration(int8(data[5])), End: time.Duration(int8(data[6]))}
			if data[1] > 250 {
				s.End = time.Duration(data[6])<<56 | 0xff
			}
			h = append(h, s)
		}
		for _, c := range append(everyCheck(), Liveness(-3), QueueLiveness(-3), Notifications(true, 3), Notifications(false, -3)) {
			v := c.Judge(slices.Values(h), nil)
			if (v.Answer == Violated) != (v.Count > 0) || (v.Answer == Violated) != (len(v.Witness) > 0) || v.Answer == Holds && v.Evidence == 0 {
				t.Fatalf("%s = %v with count %d, evidence %d, counterexample %v", c.Name, v.Answer, v.Count, v.Evidence, v.Witness)
			}
		}
		fairness(slices.Values(h), nil)
	})
}

func BenchmarkChecks(b *testing.B) {
	h := validHistory(rand.New(rand.NewPCG(1, 1)), 100, 10, 333_333)
	slices.SortFunc(h, func(a, b metrics.Sample) int { return cmp.Compare(a.End, b.End) })
	for _, c := range []Check{MutualExclusion(), TokenOrder(), FIFO(), Liveness(bound)} {
		b.Run(c.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v := c.Judge(slices.Values(h), nil); v.Answer != Holds {
					b.Fatal(v)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(h)), "ns/sample")
		})
	}
	b.Run("fairness", func(b *testing.B) {
		for b.Loop() {
			fairness(slices.Values(h), nil)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(h)), "ns/sample")
	})
}
