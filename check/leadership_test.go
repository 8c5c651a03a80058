package check

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/metrics"
)

func campaign(session byte, start, end int, token int64) metrics.Sample {
	return sample(metrics.Campaign, session, 0, start, end, token)
}

func resign(session byte, start, end int) metrics.Sample {
	return sample(metrics.Resign, session, 0, start, end, 0)
}

func TestLeadership(t *testing.T) {
	a, ra, b, rb := campaign('a', 0, 10, 0), resign('a', 20, 22), campaign('b', 5, 21, 0), resign('b', 30, 31)
	early, suspended := campaign('b', 5, 19, 0), with(metrics.Lost, resign('a', 12, 12))
	judge(t, Leadership(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"locks are no evidence", history{acquire('a', 0, 10, 0), acquire('b', 0, 11, 0)}, Unknown, 0, 0, nil},
		{"nobody led", history{with(metrics.Timeout, a)}, Unknown, 0, 0, nil},
		{"one after the other", history{a, ra, b, rb}, Holds, 2, 0, nil},
		{"two lead", history{a, ra, early, rb}, Violated, 2, 1, history{a, early, ra, rb}},
		{"a was suspended before b led", history{a, suspended, early, rb}, Holds, 2, 0, nil},
		{"a continues after its suspension while b leads", history{a, suspended, early, campaign('a', 13, 25, 0), rb}, Violated, 3, 1,
			history{early, campaign('a', 13, 25, 0), rb}},
		{"two elections", history{a, ra, on(1, early), on(1, rb)}, Unknown, 2, 0, nil},
	})
}

func TestTerms(t *testing.T) {
	a, b := campaign('a', 0, 1, 7), campaign('b', 0, 5, 8)
	judge(t, Terms(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"one term has no order", history{a}, Unknown, 0, 0, nil},
		{"terms grow", history{a, b}, Holds, 2, 0, nil},
		{"a term continues after a suspension", history{a, campaign('a', 2, 3, 7), b}, Holds, 3, 0, nil},
		{"another session has the token of the one before", history{a, campaign('b', 2, 3, 7)}, Violated, 2, 1,
			history{a, campaign('b', 2, 3, 7)}},
		{"a continues its term after b led", history{a, b, campaign('a', 2, 9, 7)}, Violated, 3, 1, history{b, campaign('a', 2, 9, 7)}},
		{"a smaller term", history{a, campaign('b', 0, 5, 6)}, Violated, 2, 1, history{a, campaign('b', 0, 5, 6)}},
	})
}

func TestCampaignFIFO(t *testing.T) {
	ea, eb, a, b := enqueue('a', 1, 2), enqueue('b', 3, 4), campaign('a', 0, 10, 0), campaign('b', 0, 20, 0)
	judge(t, CampaignFIFO(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"in the order of arrival", history{ea, a, eb, b}, Holds, 1, 0, nil},
		{"the second leads first", history{ea, campaign('a', 0, 30, 0), eb, b}, Violated, 1, 1, history{ea, eb, b, campaign('a', 0, 30, 0)}},
	})
}

func TestLeaderLiveness(t *testing.T) {
	a, ra, b := campaign('a', 0, 10, 0), resign('a', 20, 22), campaign('b', 5, 60, 0)
	judge(t, LeaderLiveness(30*ms), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"b leads in time", history{a, ra, campaign('b', 5, 50, 0)}, Holds, 2, 0, nil},
		{"nobody led for 38 ms, though b campaigned", history{a, ra, b}, Violated, 2, 1, history{ra, b}},
		{"b campaigned when a was lost", history{a, with(metrics.Lost, resign('a', 20, 20)), with(metrics.Unfinished, b)}, Violated, 2, 1,
			history{with(metrics.Lost, resign('a', 20, 20)), with(metrics.Unfinished, b)}},
		{"nobody campaigned", history{a, ra}, Holds, 1, 0, nil},
	})
}

func TestAlternation(t *testing.T) {
	a, ra, again := campaign('a', 0, 10, 0), resign('a', 20, 22), campaign('a', 23, 30, 0)
	judge(t, Alternation(), []row{
		{"no history is no evidence", nil, Unknown, 0, 0, nil},
		{"nobody led", history{with(metrics.Timeout, a)}, Unknown, 0, 0, nil},
		{"starts, ends, starts", history{a, ra, again}, Holds, 3, 0, nil},
		{"starts twice", history{a, again, resign('a', 40, 41)}, Violated, 3, 1, history{a, again}},
		{"ends twice", history{a, ra, resign('a', 25, 26), again}, Violated, 4, 1, history{ra, resign('a', 25, 26)}},
		{"ends a term that never started", history{ra, again}, Violated, 2, 1, history{ra}},
		{"resigns, and continues that term", history{campaign('a', 0, 10, 7), ra, campaign('a', 23, 30, 7)}, Violated, 3, 1,
			history{ra, campaign('a', 23, 30, 7)}},
		{"is suspended, and continues its term",
			history{campaign('a', 0, 10, 7), with(metrics.Lost, ra), campaign('a', 23, 30, 7)}, Holds, 3, 0, nil},
		{"resigns, and starts another", history{campaign('a', 0, 10, 7), ra, campaign('a', 23, 30, 8)}, Holds, 3, 0, nil},
		{"starts and ends at one instant", history{a, resign('a', 10, 11), again}, Holds, 3, 0, nil},
		{"ends, and starts at that instant", history{a, ra, campaign('a', 20, 20, 0), resign('a', 40, 41)}, Holds, 4, 0, nil},
		{"each session by itself", history{a, campaign('b', 0, 12, 0), ra, resign('b', 30, 31)}, Holds, 4, 0, nil},
		{"each election by itself", history{a, on(1, again), ra, on(1, resign('a', 40, 41))}, Holds, 4, 0, nil},
	})
}

// An election has no owner while candidates wait and nobody leads.
func TestOwnerlessOfAnElection(t *testing.T) {
	h := history{campaign('a', 0, 10, 0), resign('a', 20, 22), campaign('b', 5, 30, 0), resign('b', 40, 41)}
	if got := ownerless(slices.Values(h), nil, 0, 0, 40*ms); got.Objects != 1 || got.Share != 0.5 {
		t.Errorf("ownerless() = %+v, want half of the time of one election", got)
	}
}

// elected turns a history of a lock into that of an election.
func elected(h []metrics.Sample) []metrics.Sample {
	for i := range h {
		switch h[i].Op {
		case metrics.Acquire:
			h[i].Op = metrics.Campaign
		case metrics.Release:
			h[i].Op = metrics.Resign
		}
	}
	return h
}

// Valid elections are live, and a stall is detected, as for a lock.
func TestLivenessOfElectionsOnRandomHistories(t *testing.T) {
	c := LeaderLiveness(bound)
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		h := validHistory(r, 2+r.IntN(8), 1+r.IntN(3), 60)
		if v := c.Judge(slices.Values(elected(slices.Clone(h))), nil); v.Answer != Holds {
			t.Errorf("seed %d: %s of a valid history = %v: %s", seed, c.Name, v.Answer, v.Detail)
		}
		i := slices.IndexFunc(planted, func(p planting) bool { return p.check.Name == "liveness" })
		planted[i].plant(r, h)
		if v := c.Judge(slices.Values(elected(h)), nil); v.Answer != Violated {
			t.Errorf("seed %d: %s of a history with a planted violation = %v", seed, c.Name, v.Answer)
		}
	}
}

// A leader that was suspended and continues holds one term; it also led before it was suspended.
func TestLeadershipThatIsSuspendedAcrossHosts(t *testing.T) {
	lead := func(session byte, from, to int, g, r int64) history {
		h := history{zxid(g, campaign(session, from-1, from, 6)), zxid(r, resign(session, to, to+1))}
		if r == 0 {
			h[1] = with(metrics.Lost, h[1])
		}
		return h
	}
	again := lead('a', 40, 50, 108, 109)
	for _, tt := range []struct {
		why         string
		first, next history
		want        Answer
	}{
		{"another led until its session was lost", append(lead('a', 10, 20, 107, 0), again...), append(lead('b', 5010, 5030, 105, 0), placed('b', 5031, 5032, 108)), Unknown},
		{"it had been lost before", append(lead('a', 10, 20, 107, 0), again...), append(lead('b', 5010, 5020, 105, 0), placed('b', 5021, 5022, 107)), Holds},
		{"both led at once", joined(lead('a', 10, 20, 107, 0), history{placed('c', 12, 13, 107)}, again), append(lead('b', 5010, 5030, 105, 0), placed('d', 5011, 5012, 106), placed('d', 5020, 5021, 107)), Violated},
	} {
		if v, _ := Leadership().JudgeAcross(hostsOf(tt.first, tt.next), nil); v.Answer != tt.want {
			t.Errorf("%s: %v, want %v: %s", tt.why, v.Answer, tt.want, v.Detail)
		}
	}
}
