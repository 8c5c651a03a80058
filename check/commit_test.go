package check

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

func valued(op metrics.Op, session byte, start, end int, value int64) metrics.Sample {
	s := sample(op, session, 0, start, end, 0)
	s.Value = value
	return s
}

func propose(n int64) metrics.Sample { return valued(metrics.Propose, 'a', 0, 1, n) }

func votes(session byte, start, end int, value int64) metrics.Sample {
	return valued(metrics.Vote, session, start, end, value)
}

func decides(session byte, start, end int, value int64) metrics.Sample {
	return valued(metrics.Decide, session, start, end, value)
}

func TestAgreement(t *testing.T) {
	a, b, no := decides('a', 5, 10, Commits), decides('b', 6, 11, Commits), decides('b', 6, 11, Aborts)
	judge(t, Agreement(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"votes are no decisions", history{votes('a', 1, 2, Commits)}, Unknown, 0, 0, nil},
		{"a decision in doubt is no decision", history{with(metrics.InDoubt, a)}, Unknown, 0, 0, nil},
		{"all commit", history{a, b}, Holds, 2, 0, nil},
		{"one aborts", history{a, no, decides('c', 7, 12, Commits)}, Violated, 3, 1, history{a, no}},
		{"two transactions", history{a, on(1, no)}, Holds, 2, 0, nil},
	})
}

func TestCommitValidity(t *testing.T) {
	p, va, vb, d := propose(2), votes('a', 1, 2, Commits), votes('b', 1, 3, Commits), decides('a', 2, 10, Commits)
	judge(t, CommitValidity(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"an abort needs no votes", history{p, va, decides('a', 2, 10, Aborts)}, Unknown, 0, 0, nil},
		{"without its proposal the number of votes is unknown", history{va, d}, Unknown, 0, 0, nil},
		{"all have voted", history{p, va, vb, d}, Holds, 1, 0, nil},
		{"a vote whose reply was lost may have been cast", history{p, va, with(metrics.InDoubt, vb), d}, Holds, 1, 0, nil},
		{"one vote is missing", history{p, va, d}, Violated, 1, 1, history{p, d}},
		{"one site voted twice, the other did not", history{p, va, votes('a', 3, 4, Commits), d}, Violated, 1, 1, history{p, d}},
		{"a vote after the decision", history{p, va, votes('b', 11, 12, Commits), d}, Violated, 1, 1, history{p, d}},
	})
}

func TestAbortValidity(t *testing.T) {
	no, d := votes('b', 1, 3, Aborts), decides('a', 2, 10, Commits)
	judge(t, AbortValidity(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nobody votes to abort", history{votes('b', 1, 3, Commits), d}, Unknown, 0, 0, nil},
		{"a vote in doubt may not have been cast", history{with(metrics.InDoubt, no), d}, Unknown, 0, 0, nil},
		{"aborted", history{no, decides('a', 2, 10, Aborts)}, Holds, 1, 0, nil},
		{"committed all the same", history{no, d}, Violated, 1, 1, history{no, d}},
	})
}

func TestDecisionStands(t *testing.T) {
	d := decides('a', 2, 10, Commits)
	judge(t, DecisionStands(), []row{
		{"a decision read once is no evidence", history{d}, Unknown, 0, 0, nil},
		{"read twice, the same", history{d, decides('a', 11, 12, Commits)}, Holds, 1, 0, nil},
		{"read twice, different", history{d, decides('a', 11, 12, Aborts)}, Violated, 1, 1, history{d, decides('a', 11, 12, Aborts)}},
		{"two sessions are left to the agreement check", history{d, decides('b', 11, 12, Aborts)}, Unknown, 0, 0, nil},
	})
}

func TestCommitProgress(t *testing.T) {
	p, va, vb := propose(2), votes('a', 1, 2, Commits), votes('b', 1, 3, Commits)
	yes, no := decides('a', 2, 10, Commits), decides('a', 2, 10, Aborts)
	fault := sample(metrics.Fault, 0, 0, 9, 9, 0)
	judge(t, CommitProgress(20*ms), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"all vote to commit, and it commits", history{p, va, vb, yes}, Holds, 1, 0, nil},
		{"all vote to commit, and it aborts", history{p, va, vb, no}, Violated, 1, 1, history{p, no}},
		{"one votes to abort", history{p, va, votes('b', 1, 3, Aborts), no}, Unknown, 0, 0, nil},
		{"one does not vote", history{p, va, no}, Unknown, 0, 0, nil},
		{"one votes late", history{p, va, votes('b', 1, 11, Commits), no}, Unknown, 0, 0, nil},
		{"something went wrong", history{p, va, vb, no, with(metrics.Lost, decides('b', 3, 9, 0))}, Unknown, 0, 0, nil},
		{"there was a fault", history{p, va, vb, no, fault}, Unknown, 0, 0, nil},
		{"a request took a quarter of the deadline", history{p, va, vb, no, sample(metrics.Late, 'a', 0, 4, 9, 0)}, Unknown, 0, 0, nil},
		{"less than that", history{p, va, vb, no, sample(metrics.Late, 'a', 0, 5, 9, 0)}, Violated, 1, 1, history{p, no}},
		{"a session had no connection for as long", history{p, va, vb, no, down('a', 4, 9)}, Unknown, 0, 0, nil},
	})
}

func TestDecisionLiveness(t *testing.T) {
	v, quick, slow := votes('a', 1, 2, Commits), decides('a', 2, 10, Commits), decides('a', 2, 50, Commits)
	within := sample(metrics.Bound, 0, 0, 0, 1, 0)
	judge(t, DecisionLiveness(20*ms), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"decided in time", history{v, quick}, Holds, 1, 0, nil},
		{"decided late", history{v, slow}, Violated, 1, 1, history{v, slow}},
		{"never decided", history{v, with(metrics.Unfinished, slow)}, Violated, 1, 1, history{v, with(metrics.Unfinished, slow)}},
		{"the site never asks", history{v}, Violated, 1, 1, history{v}},
		{"a site that lost its session", history{v, with(metrics.Lost, slow)}, Unknown, 0, 0, nil},
		{"a site that did not vote", history{slow}, Unknown, 0, 0, nil},
		{"decided long after others, by the measured bound", history{v, votes('b', 1, 2, Commits), decides('a', 2, 3, Commits), decides('b', 2, 8, Commits), within}, Violated, 2, 1,
			history{votes('b', 1, 2, Commits), decides('b', 2, 8, Commits)}},
		{"decided soon after others", history{v, votes('b', 1, 2, Commits), decides('a', 2, 3, Commits), decides('b', 2, 7, Commits), within}, Holds, 2, 0, nil},
		{"a fault is not counted", history{v, slow, sample(metrics.Fault, 0, 0, 10, 45, 0)}, Holds, 1, 0, nil},
		{"nor is a standstill", history{v, decides('a', 2, 1500, Commits), everybodyLate(10, 1490)}, Holds, 1, 0, nil},
	})
}

// validCommits returns a history of transactions of n sites. Some sites read the decision twice.
func validCommits(r *rand.Rand, transactions, n int) []metrics.Sample {
	var h []metrics.Sample
	for tx := range transactions {
		from := time.Duration(r.IntN(1000)) * ms
		at := func(op metrics.Op, site int, start, took time.Duration, value int64) metrics.Sample {
			start += from
			return metrics.Sample{Op: op, Session: uint32(site), Object: uint32(tx), Value: value, Due: start, Start: start, End: start + took}
		}
		h = append(h, at(metrics.Propose, r.IntN(n), 0, ms, int64(n)))
		decision := Commits
		if tx%3 == 1 {
			decision = Aborts
		}
		no := r.IntN(n)
		for site := range n {
			vote := Commits
			if site == no {
				vote = decision
			}
			h = append(h, at(metrics.Vote, site, 2*ms, time.Duration(r.IntN(5))*ms, vote),
				at(metrics.Decide, site, 8*ms, time.Duration(1+r.IntN(5))*ms, decision), at(metrics.Decide, site, 15*ms, ms, decision))
		}
	}
	r.Shuffle(len(h), func(i, j int) { h[i], h[j] = h[j], h[i] })
	return h
}

// Valid transactions make progress and are live; one that aborts without a reason, and one whose sites learn of it late, are detected.
func TestProgressAndLivenessOfValidCommits(t *testing.T) {
	const deadline = 50 * ms
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		n, transactions := 2+r.IntN(5), 3+r.IntN(20)
		h := validCommits(r, transactions, n)
		object := h[slices.IndexFunc(h, func(s metrics.Sample) bool { return s.Object%3 != 1 })].Object // one that commits
		for _, tt := range []struct {
			check Check
			plant func(*metrics.Sample)
		}{
			{CommitProgress(deadline), func(s *metrics.Sample) { s.Value = Aborts }},
			{DecisionLiveness(deadline + ms), func(s *metrics.Sample) { s.End += deadline }},
		} {
			if v := tt.check.Judge(slices.Values(h), nil); v.Answer != Holds || v.Evidence < n {
				t.Fatalf("seed %d: %s of a valid history = %v with evidence %d: %s", seed, tt.check.Name, v.Answer, v.Evidence, v.Detail)
			}
			bad := slices.Clone(h)
			for i := range bad {
				if bad[i].Op == metrics.Decide && bad[i].Object == object {
					tt.plant(&bad[i])
				}
			}
			v := tt.check.Judge(slices.Values(bad), nil)
			if v.Answer != Violated || v.Count < 1 || len(v.Witness) < 1 || v.Detail == "" {
				t.Fatalf("seed %d: %s of a history with a planted violation = %v: %s", seed, tt.check.Name, v.Answer, v.Detail)
			}
			for _, w := range v.Witness {
				if !slices.Contains(bad, w) {
					t.Fatalf("seed %d: the counterexample %v of %s is not in the history", seed, w, tt.check.Name)
				}
			}
		}
	}
}

// atomicCommit returns the checks of an atomic commit. deadline is how long the sites of a transaction wait for each other, and slack the time they may take
// beyond it to exchange the decision or to resolve a doubt.
func atomicCommit(deadline, slack time.Duration) []Check {
	return []Check{Agreement(), CommitValidity(), AbortValidity(), DecisionStands(), CommitProgress(deadline), DecisionLiveness(deadline + slack)}
}

// However many sessions report a standstill, only the time that they cover is kept.
func TestMemoryOfBreaks(t *testing.T) {
	notified := func(yield func(metrics.Sample) bool) {
		for i := range 1_000_000 {
			at := time.Duration(i/100_000) * time.Hour
			if !yield(metrics.Sample{Op: metrics.Expire, Session: uint32(i), Start: at, End: at + time.Minute + time.Duration(i%1000)}) {
				return
			}
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all := breaks(notified)
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 4<<20 {
		t.Errorf("%d bytes were allocated", bytes)
	}
	if len(all) != 10 || all[9] != (period{from: 9 * time.Hour, to: 9*time.Hour + time.Minute + 999, session: all[9].session}) {
		t.Errorf("%d periods: %v", len(all), all)
	}
}
