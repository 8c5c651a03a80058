package workloads

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	commits "github.com/zkbench/zkbench/recipes/commit"
)

// commitStand is a stand of the two-phase-commit workload.
func commitStand(t *testing.T, variant string, sessions, participants, rounds int, aborts float64) *stand {
	t.Helper()
	v, ok := recipes.Find(commits.Variants(), variant)
	if !ok {
		t.Fatalf("no variant %s", variant)
	}
	return newStand(t, latency, NewCommit(v, recipes.Options{}, Load{Dir: "/cell", Sessions: sessions, Deadline: 10 * time.Second, Stall: time.Minute,
		Values: profiles.Values{"participants": participants, "aborts": int(100 * aborts), "transactions": rounds, "hold": constant(time.Millisecond)}}), sessions)
}

func TestTwoPhaseCommitKeepsItsPromises(t *testing.T) {
	for _, v := range commits.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const rounds = 20
				st := commitStand(t, v.Name, 7, 3, rounds, 0.3) // a group of 4 and one of 3
				st.drive(rounds, seats(7)...)
				all := st.end()
				n := counts(all)
				if n[metrics.Decide] != 7*rounds || n[metrics.Vote] != 7*rounds || n[metrics.Propose] != 2*rounds || n[metrics.Recall] != 4 {
					t.Errorf("%d decisions of %d votes on %d proposals and %d asked again, want %d, %d, %d and 4", n[metrics.Decide], n[metrics.Vote],
						n[metrics.Propose], n[metrics.Recall], 7*rounds, 7*rounds, 2*rounds)
				}
				st.holds(map[string]int{"commit-agreement": 7 * rounds, "decision-stands": 4, "decision-liveness": 7 * rounds, "nothing-left": 2,
					"commit-validity": some, "commit-progress": some, "abort-validity": some})
				for seat := range uint32(7) {
					if !st.work.(Finite).Finished(seat) {
						t.Errorf("seat %d is not finished", seat)
					}
				}
			})
		})
	}
}

// The measured cost is the theoretical one if no site is early.
func TestTheCostOfATwoPhaseCommit(t *testing.T) {
	for _, v := range commits.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const sites, rounds = 10, 10
				st := commitStand(t, v.Name, sites, sites, rounds, 0)
				st.drive(rounds, seats(sites)...)
				st.end()
				got, want := CostOf(st.fanout.Snapshot()), st.work.(Costed).Cost()
				for _, what := range Spents {
					theory, known := want[what]
					least := theory
					if what == Reads || what == Events { // some votes are already cast when they are first looked at
						least /= 2
					}
					if measured := got[what] / rounds; known && (measured > theory || measured < least) {
						t.Errorf("%s: %.2f for each transaction, want at most %.2f and not less than %.2f", what, measured, theory, least)
					}
				}
			})
		})
	}
}
