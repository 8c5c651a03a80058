package check

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

func at(op metrics.Op, o metrics.Outcome, session uint32, value int64, start, end time.Duration) metrics.Sample {
	return metrics.Sample{Op: op, Outcome: o, Session: session, Value: value, Due: start, Start: start, End: end}
}

// Each history is one round, number 1, of three members; times are in ms.
func TestBarrierChecks(t *testing.T) {
	const enter, leave = metrics.Enter, metrics.Leave
	safe, equal, out, alive := EnterSafety(enter, 3), EqualOutcome(enter, 3), LeaveSafety(), RoundLiveness(enter, 3, 50*ms)
	in := func(session uint32, o metrics.Outcome, start, end time.Duration) metrics.Sample {
		return at(enter, o, session, 1, start*ms, end*ms)
	}
	away := func(session uint32, o metrics.Outcome, start, end time.Duration) metrics.Sample {
		return at(leave, o, session, 1, start*ms, end*ms)
	}
	all := []metrics.Sample{in(0, metrics.OK, 0, 10), in(1, metrics.OK, 1, 11), in(2, metrics.OK, 9, 12)}
	with := func(more ...metrics.Sample) []metrics.Sample { return slices.Concat(all, more) }
	for _, tt := range []struct {
		why      string
		check    Check
		history  []metrics.Sample
		answer   Answer
		evidence int
		count    int
		witness  int
	}{
		{"nothing", safe, nil, Unknown, 0, 0, 0},
		{"nobody was let in", safe, []metrics.Sample{in(0, metrics.Timeout, 0, 9)}, Unknown, 0, 0, 0},
		{"all had started", safe, all, Holds, 3, 0, 0},
		{"released at the instant the last member starts", safe, []metrics.Sample{in(0, metrics.OK, 0, 9), in(1, metrics.OK, 1, 9), in(2, metrics.OK, 9, 12)}, Holds, 3, 0, 0},
		{"released before the last member started", safe, []metrics.Sample{in(0, metrics.OK, 0, 8), in(1, metrics.OK, 1, 11), in(2, metrics.OK, 9, 12)}, Violated, 3, 1, 2},
		{"a member never started", safe, all[:2], Violated, 2, 2, 1},
		{"two attempts of one session are one member", safe, []metrics.Sample{in(0, metrics.OK, 0, 9), in(1, metrics.Lost, 0, 2), in(1, metrics.OK, 3, 9)}, Violated, 2, 2, 1},
		{"a lost member may have been counted", safe, []metrics.Sample{in(0, metrics.OK, 0, 10), in(1, metrics.OK, 1, 11), in(2, metrics.Lost, 9, 12)}, Holds, 2, 0, 0},
		{"another round's members do not count", safe, []metrics.Sample{in(0, metrics.OK, 0, 10), in(1, metrics.OK, 1, 11), at(enter, metrics.OK, 2, 2, 0, ms)}, Violated, 3, 3, 1},

		{"all in", equal, all, Holds, 3, 0, 0},
		{"all out", equal, []metrics.Sample{in(0, metrics.Timeout, 0, 9), in(1, metrics.Timeout, 0, 9)}, Holds, 2, 0, 0},
		{"one timed out and the others went in", equal, []metrics.Sample{in(0, metrics.OK, 0, 10), in(1, metrics.OK, 1, 11), in(2, metrics.Timeout, 5, 12)}, Violated, 3, 2, 2},
		{"it timed out and came back", equal, []metrics.Sample{in(0, metrics.OK, 0, 20), in(1, metrics.OK, 1, 21), in(2, metrics.Timeout, 5, 12), in(2, metrics.OK, 13, 20)}, Holds, 4, 0, 0},
		{"it got an error", equal, []metrics.Sample{in(0, metrics.OK, 0, 10), in(1, metrics.OK, 1, 11), in(2, metrics.Failed, 5, 12)}, Holds, 2, 0, 0},

		{"nobody left", out, all, Unknown, 0, 0, 0},
		{"all had started to leave", out, with(away(0, metrics.OK, 20, 31), away(1, metrics.OK, 21, 31), away(2, metrics.OK, 30, 31)), Holds, 3, 0, 0},
		{"one was still inside", out, with(away(0, metrics.OK, 20, 29), away(1, metrics.OK, 21, 31), away(2, metrics.OK, 30, 31)), Violated, 3, 1, 3},
		{"it was lost", out, with(away(0, metrics.OK, 20, 29), away(1, metrics.OK, 21, 29), away(2, metrics.Lost, 30, 31)), Holds, 2, 0, 0},
		{"one was still inside, the last was lost", out, with(away(0, metrics.OK, 20, 22), away(1, metrics.OK, 24, 29), away(2, metrics.Lost, 30, 31)), Violated, 2, 1, 3},
		{"it gave up and was out", out, with(away(0, metrics.OK, 20, 31), away(1, metrics.OK, 21, 31), away(2, metrics.Timeout, 30, 40)), Holds, 2, 0, 0},
		{"one entered after another had started to leave", out, with(away(0, metrics.OK, 20, 29), away(1, metrics.OK, 21, 29), away(2, metrics.OK, 22, 29),
			in(3, metrics.OK, 21, 25), away(3, metrics.OK, 40, 41)), Holds, 4, 0, 0},

		{"one was lost and came back late", out, []metrics.Sample{in(0, metrics.OK, 0, 10), in(1, metrics.OK, 1, 11), in(2, metrics.Lost, 2, 9),
			in(2, metrics.OK, 10, 30), away(0, metrics.OK, 20, 29), away(1, metrics.OK, 21, 29), away(2, metrics.OK, 40, 41)}, Holds, 3, 0, 0},
		{"one gave up and came back in time", out, []metrics.Sample{in(0, metrics.OK, 0, 15), in(1, metrics.OK, 1, 15), in(2, metrics.Timeout, 2, 9),
			in(2, metrics.OK, 10, 15), away(0, metrics.OK, 20, 29), away(1, metrics.OK, 21, 41), away(2, metrics.OK, 40, 41)}, Violated, 3, 1, 3},

		{"nobody waited", alive, nil, Unknown, 0, 0, 0},
		{"in time", alive, with(away(0, metrics.OK, 20, 31), away(1, metrics.OK, 21, 31), away(2, metrics.OK, 30, 31)), Holds, 6, 0, 0},
		{"a member was missing", alive, []metrics.Sample{in(0, metrics.Timeout, 0, 100), in(1, metrics.Timeout, 0, 100), in(2, metrics.Lost, 0, 100)}, Holds, 3, 0, 0},
		{"all present, and nobody let in", alive, []metrics.Sample{in(0, metrics.Timeout, 0, 100), in(1, metrics.Timeout, 10, 70), in(2, metrics.Timeout, 19, 90)}, Violated, 3, 3, 1},
		{"all present for too short a time", alive, []metrics.Sample{in(0, metrics.Timeout, 0, 100), in(1, metrics.Timeout, 10, 60), in(2, metrics.Timeout, 19, 90)}, Holds, 3, 0, 0},
		{"one is stuck where the others went in", alive, []metrics.Sample{in(0, metrics.OK, 0, 10), in(1, metrics.OK, 1, 11), in(2, metrics.Unfinished, 9, 61)}, Violated, 3, 1, 1},
		{"one is stuck where the others have left", alive, with(away(0, metrics.OK, 20, 31), away(1, metrics.Unfinished, 21, 81), away(2, metrics.OK, 30, 31)), Violated, 6, 1, 1},
		{"waiting for a member that is still working", alive, with(away(0, metrics.Unfinished, 20, 99), away(1, metrics.Unfinished, 21, 99), away(2, metrics.Unfinished, 90, 99)), Holds, 6, 0, 0},
	} {
		t.Run(tt.check.Name+"/"+tt.why, func(t *testing.T) {
			v := tt.check.Judge(slices.Values(tt.history), nil)
			if v.Answer != tt.answer || v.Evidence != tt.evidence || v.Count != tt.count || len(v.Witness) != tt.witness || (v.Answer != Holds) != (v.Detail != "") {
				t.Errorf("%v, evidence %d, count %d, counterexample %v: %s; want %v, %d, %d, %d samples", v.Answer, v.Evidence, v.Count, v.Witness, v.Detail,
					tt.answer, tt.evidence, tt.count, tt.witness)
			}
		})
	}
}

func TestBarred(t *testing.T) {
	set, remove := at(metrics.Bar, metrics.OK, 0, 1, 0, 10*ms), at(metrics.Unbar, metrics.OK, 0, 1, 30*ms, 32*ms)
	pass := func(o metrics.Outcome, start, end time.Duration) metrics.Sample {
		return at(metrics.Pass, o, 1, 1, start*ms, end*ms)
	}
	for _, tt := range []struct {
		why     string
		check   Check
		history []metrics.Sample
		answer  Answer
		count   int
	}{
		{"never set", Barred(), []metrics.Sample{pass(metrics.OK, 1, 2)}, Unknown, 0},
		{"nobody waited", Barred(), []metrics.Sample{set, remove}, Unknown, 0},
		{"passed after the removal", Barred(), []metrics.Sample{set, remove, pass(metrics.OK, 11, 31)}, Holds, 0},
		{"waited before it was certainly set", Barred(), []metrics.Sample{set, remove, pass(metrics.OK, 9, 20)}, Holds, 0},
		{"set for the whole of the wait", Barred(), []metrics.Sample{set, remove, pass(metrics.OK, 11, 29)}, Violated, 1},
		{"and never removed", Barred(), []metrics.Sample{set, pass(metrics.OK, 11, 99)}, Violated, 1},
		{"a wait that timed out passed nothing", Barred(), []metrics.Sample{set, remove, pass(metrics.Timeout, 11, 29), pass(metrics.OK, 11, 31)}, Holds, 0},
		{"released promptly", PassLiveness(50 * ms), []metrics.Sample{set, remove, pass(metrics.OK, 11, 40)}, Holds, 0},
		{"the removal was in doubt", PassLiveness(50 * ms), []metrics.Sample{set, at(metrics.Unbar, metrics.Timeout, 0, 1, 30*ms, 32*ms),
			pass(metrics.Unfinished, 11, 90)}, Holds, 0},
		{"another setting was in doubt", PassLiveness(50 * ms), []metrics.Sample{set, remove, at(metrics.Bar, metrics.Timeout, 0, 1, 33*ms, 34*ms),
			pass(metrics.Unfinished, 11, 190)}, Holds, 0},
		{"released far too late", PassLiveness(50 * ms), []metrics.Sample{set, remove, pass(metrics.Unfinished, 11, 90)}, Violated, 1},
	} {
		if v := tt.check.Judge(slices.Values(tt.history), nil); v.Answer != tt.answer || v.Count != tt.count {
			t.Errorf("%s: %v, %d: %s; want %v, %d", tt.why, v.Answer, v.Count, v.Detail, tt.answer, tt.count)
		}
		if tt.check.Across == nil || tt.answer == Unknown {
			continue
		}
		several := []Host{{Name: "a", History: slices.Values(tt.history)}}
		if v, _ := tt.check.JudgeAcross(several, nil); (v.Answer == Violated) != (tt.answer == Violated) {
			t.Errorf("%s, across hosts: %v: %s; want %v", tt.why, v.Answer, v.Detail, tt.answer)
		}
	}
}

// validRounds returns the history of a double barrier: in each round all enter and all leave. Sometimes a member is lost, or a first attempt times out.
func validRounds(r *rand.Rand, members, rounds int) []metrics.Sample {
	var h []metrics.Sample
	upTo := func(limit time.Duration) time.Duration { return time.Duration(r.Int64N(int64(limit))) }
	free := make([]time.Duration, members)
	for number := int64(1); number <= int64(rounds); number++ {
		if r.IntN(5) == 0 { // a first attempt in which a member is missing
			for i := range members - 1 {
				end := free[i] + 3*ms + upTo(3*ms)
				h = append(h, at(metrics.Enter, metrics.Timeout, uint32(i), number, free[i], end))
				free[i] = end
			}
		}
		begins, last := make([]time.Duration, members), time.Duration(0)
		for i := range members {
			begins[i] = free[i] + upTo(10*ms)
			last = max(last, begins[i])
		}
		lost := -1
		if r.IntN(4) == 0 {
			lost = r.IntN(members)
		}
		last += upTo(2 * ms)
		out, ends := time.Duration(0), make([]time.Duration, members)
		for i := range members {
			in := at(metrics.Enter, metrics.OK, uint32(i), number, begins[i], last+upTo(5*ms))
			h = append(h, in)
			if ends[i] = in.End + upTo(10*ms); i != lost {
				out = max(out, ends[i])
			}
		}
		for i := range members {
			o, end := metrics.OK, max(out, ends[i])+upTo(3*ms)
			if i == lost {
				o = metrics.Lost
			}
			h = append(h, at(metrics.Leave, o, uint32(i), number, ends[i], end))
			free[i] = end
		}
	}
	r.Shuffle(len(h), func(i, j int) { h[i], h[j] = h[j], h[i] })
	return h
}

// Valid rounds are live, and a member that is let in or out late is detected.
func TestLivenessOfValidRounds(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		members, rounds := 2+r.IntN(8), 2+r.IntN(30)
		h, c := validRounds(r, members, rounds), RoundLiveness(metrics.Enter, members, bound)
		if v := c.Judge(slices.Values(h), nil); v.Answer != Holds || v.Count != 0 {
			t.Fatalf("seed %d: %s of a valid history = %v: %s %v", seed, c.Name, v.Answer, v.Detail, v.Witness)
		}
		op, number := []metrics.Op{metrics.Enter, metrics.Leave}[r.IntN(2)], 1+r.Int64N(int64(rounds))
		late := slices.IndexFunc(h, func(s metrics.Sample) bool { return s.Op == op && s.Value == number && s.Outcome == metrics.OK })
		h[late].End += 2 * bound
		if v := c.Judge(slices.Values(h), nil); v.Answer != Violated || v.Count < 1 || len(v.Witness) < 1 || v.Detail == "" {
			t.Fatalf("seed %d: %s of a history with a planted violation = %v: %s", seed, c.Name, v.Answer, v.Detail)
		}
	}
}
