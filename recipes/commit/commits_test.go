package commit_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	commits "github.com/zkbench/zkbench/recipes/commit"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestCommitsInMemory(t *testing.T) {
	for _, v := range commits.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			recipestest.CommitOn(t, v, bubble.DialIn(zktest.New(zktest.Config{})), bubble.Dir, 100)
		})
	}
}

// ballot is a transaction in a bubble.
type ballot struct {
	ens *zktest.Ensemble
	v   recipes.Variant[recipes.Commit]
	n   int
}

const tx = bubble.Dir + "/tx"

// eachCommit runs a test of a transaction of n sites for each variant.
func eachCommit(t *testing.T, n int, test func(*testing.T, ballot)) {
	for _, v := range commits.Variants() {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) { test(t, ballot{ens, v, n}) })
	}
}

// voter is a site of a transaction and its session.
type voter struct {
	recipes.Commit
	session *zktest.Session
}

func (b ballot) site(i int, o recipes.Options) voter {
	o.Members, o.Site, o.Deadline = b.n, i, 10*time.Second
	s := b.ens.Dial()
	return voter{b.v.New(s, tx, o), s}
}

// all returns the sites of a transaction that the first has proposed and the others have learnt.
func (b ballot) all(t *testing.T, options ...recipes.Options) []voter {
	t.Helper()
	var sites []voter
	for i := range b.n {
		var o recipes.Options
		if i < len(options) {
			o = options[i]
		}
		sites = append(sites, b.site(i+1, o))
		if i == 0 {
			bubble.OK(t, "Propose()", sites[i].Propose(t.Context(), []byte("p")))
			continue
		}
		_, err := sites[i].Learn(t.Context())
		bubble.OK(t, "Learn()", err)
	}
	return sites
}

func (p voter) votes(t *testing.T, commit bool) {
	t.Helper()
	bubble.OK(t, "Vote()", p.Vote(t.Context(), commit))
}

// deciding is a running Decide.
type deciding struct {
	*bubble.Attempt
	commit bool
}

func (p voter) decides(t *testing.T) *deciding {
	d := &deciding{}
	d.Attempt = bubble.Begin(func() (recipes.Grant, error) {
		var err error
		d.commit, err = p.Decide(t.Context())
		return recipes.Grant{}, err
	})
	return d
}

func (d *deciding) is(t *testing.T, what, want string) {
	t.Helper()
	synctest.Wait()
	got := d.State()
	if got == "holds" {
		got = map[bool]string{true: "commits", false: "aborts"}[d.commit]
	}
	if got != want {
		t.Fatalf("%s: %s (%v), want %s", what, got, d.Err, want)
	}
}

// finish lets all sites finish. Then no znode of the transaction and no watch may be left.
func finish(t *testing.T, b ballot, sites ...voter) {
	t.Helper()
	for _, p := range sites {
		bubble.OK(t, "Finish()", p.Finish(t.Context()))
	}
	if _, there := b.ens.Tree()[tx]; there {
		t.Errorf("left: %v", b.ens.Tree())
	}
	synctest.Wait()
	if left := b.ens.Watches(); len(left) != 0 {
		t.Errorf("watches left: %v", left)
	}
}

func TestACommitNeedsAllVotes(t *testing.T) {
	eachCommit(t, 3, func(t *testing.T, b ballot) {
		sites := b.all(t)
		var ds []*deciding
		for _, p := range sites {
			for _, d := range ds {
				d.is(t, "before the last vote", "waits")
			}
			p.votes(t, true)
			ds = append(ds, p.decides(t))
		}
		for _, d := range ds {
			d.is(t, "after the last vote", "commits")
		}
		finish(t, b, sites...)
	})
}

func TestAVoteToAbortDecidesAtOnce(t *testing.T) {
	eachCommit(t, 3, func(t *testing.T, b ballot) {
		sites := b.all(t)
		sites[0].votes(t, true)
		first := sites[0].decides(t)
		sites[2].votes(t, false)
		no := sites[2].decides(t)
		first.is(t, "a site that sees the vote to abort", "aborts")
		no.is(t, "the site that voted to abort", "aborts")
		sites[1].votes(t, true)
		sites[1].decides(t).is(t, "a site that votes after the decision", "aborts")
		finish(t, b, sites...)
	})
}

func TestASiteThatDoesNotVoteAbortsAtTheDeadline(t *testing.T) {
	eachCommit(t, 3, func(t *testing.T, b ballot) {
		sites := b.all(t)
		b.ens.Expire(sites[1].session)
		sites[0].votes(t, true)
		sites[2].votes(t, true)
		started := time.Now()
		d0, d2 := sites[0].decides(t), sites[2].decides(t)
		d0.is(t, "before the deadline", "waits")
		<-d0.Done
		<-d2.Done
		if took := time.Since(started); took != 10*time.Second {
			t.Errorf("decided after %v, want the deadline", took)
		}
		d0.is(t, "after the deadline", "aborts")
		d2.is(t, "after the deadline", "aborts")
		again := b.site(2, recipes.Options{})
		_, err := again.Learn(t.Context())
		bubble.OK(t, "Learn() of a site that comes back", err)
		again.votes(t, true)
		again.decides(t).is(t, "a site that comes back", "aborts")
		finish(t, b, sites[0], again, sites[2])
	})
}

func TestTheDeathOfASiteAbortsBeforeTheDeadline(t *testing.T) {
	eachCommit(t, 2, func(t *testing.T, b ballot) {
		alive := recipes.Options{Alive: true}
		sites := b.all(t, alive, alive)
		sites[0].votes(t, true)
		d := sites[0].decides(t)
		d.is(t, "while all are alive", "waits")
		b.ens.Expire(sites[1].session)
		d.is(t, "after a site died before its vote", "aborts")
	})
	eachCommit(t, 2, func(t *testing.T, b ballot) {
		alive := recipes.Options{Alive: true}
		sites := b.all(t, alive, alive)
		sites[1].votes(t, true)
		b.ens.Expire(sites[1].session)
		sites[0].votes(t, true)
		sites[0].decides(t).is(t, "after a site died after its vote", "commits")
	})
}

func TestASiteThatDiedAfterItsVoteLearnsTheDecision(t *testing.T) {
	eachCommit(t, 3, func(t *testing.T, b ballot) {
		sites := b.all(t)
		sites[2].votes(t, true)
		b.ens.Expire(sites[2].session)
		sites[0].votes(t, true)
		sites[1].votes(t, true)
		sites[0].decides(t).is(t, "with the vote of a dead site", "commits")
		sites[1].decides(t).is(t, "with the vote of a dead site", "commits")
		again := b.site(3, recipes.Options{})
		_, err := again.Learn(t.Context())
		bubble.OK(t, "Learn()", err)
		if err := again.Vote(t.Context(), false); !errors.Is(err, recipes.ErrVoted) {
			t.Errorf("the opposite Vote() = %v, want ErrVoted", err)
		}
		again.votes(t, true)
		again.decides(t).is(t, "the site that came back", "commits")
		finish(t, b, sites[0], sites[1], again)
	})
}

func TestACoordinatorThatDiesAfterSomeVotes(t *testing.T) {
	for k := range 4 {
		eachCommit(t, 3, func(t *testing.T, b ballot) {
			sites := b.all(t)
			for i := range k {
				sites[i].votes(t, true)
			}
			b.ens.Expire(sites[0].session)
			d1, d2 := sites[1].decides(t), sites[2].decides(t)
			<-d1.Done
			<-d2.Done
			want := "aborts" // without the coordinator nobody acts on the votes
			if k == 3 && b.v.Name == "flat" {
				want = "commits"
			}
			d1.is(t, fmt.Sprintf("%d votes", k), want)
			d2.is(t, fmt.Sprintf("%d votes", k), want)
			again := b.site(1, recipes.Options{})
			_, err := again.Learn(t.Context())
			bubble.OK(t, "Learn()", err)
			again.decides(t).is(t, "the coordinator, back again", want)
			finish(t, b, again, sites[1], sites[2])
		})
	}
}

// One site knows all votes and is about to commit while another reaches the deadline: in either order the first one decides and the second obeys.
func TestTheCommitAndTheAbortOfTheDeadlineInBothOrders(t *testing.T) {
	for _, abortFirst := range []bool{true, false} {
		eachCommit(t, 2, func(t *testing.T, b ballot) {
			knows, commit := bubble.Stopped(recipes.PauseDeciding)
			late, abort := bubble.Stopped(recipes.PauseLate)
			sites := b.all(t, knows, late)
			sites[1].votes(t, true)
			d1 := sites[1].decides(t)
			reads := make(chan struct{}) // with flat, keeps the second site from reading the last vote in time
			b.ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Session == sites[1].session && op.Kind == zk.KindGet && !op.Applied {
					<-reads
				}
				return zktest.Action{}
			})
			sites[0].votes(t, true)
			d0 := sites[0].decides(t)
			d0.is(t, "about to commit", "waits")
			time.Sleep(11 * time.Second)
			d1.is(t, "past its deadline", "waits")
			close(reads)
			want := "commits"
			if abortFirst {
				want = "aborts"
				abort()
				d1.is(t, "the site that aborts", want)
				commit()
				d0.is(t, "the site that wanted to commit", want)
			} else {
				commit()
				d0.is(t, "the site that commits", want)
				abort()
				d1.is(t, "the site past its deadline", want)
			}
			finish(t, b, sites...)
		})
	}
}

func TestADuplicateTransaction(t *testing.T) {
	eachCommit(t, 2, func(t *testing.T, b ballot) {
		b.all(t)
		if err := b.site(2, recipes.Options{}).Propose(t.Context(), []byte("p")); !errors.Is(err, recipes.ErrProposed) {
			t.Errorf("the second Propose() = %v, want ErrProposed", err)
		}
		if err := b.site(2, recipes.Options{}).Vote(t.Context(), true); !errors.Is(err, recipes.ErrNotLearnt) {
			t.Errorf("Vote() on a handle that has not learnt = %v, want ErrNotLearnt", err)
		}
	})
}

func TestACoordinatorThatDiesBeforeItsProposalLeavesNothing(t *testing.T) {
	eachCommit(t, 3, func(t *testing.T, b ballot) {
		learner := b.site(2, recipes.Options{})
		a := bubble.Begin(func() (recipes.Grant, error) { _, err := learner.Learn(t.Context()); return recipes.Grant{}, err })
		dead := b.site(1, recipes.Options{})
		b.ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindMulti && !op.Applied {
				b.ens.Expire(dead.session)
			}
			return zktest.Action{}
		})
		if err := dead.Propose(t.Context(), nil); !errors.Is(err, zk.ErrSessionExpired) {
			t.Errorf("Propose() = %v, want ErrSessionExpired", err)
		}
		b.ens.Hook(nil)
		bubble.Expect(t, "nothing was proposed", a, "waits")
		if _, there := b.ens.Tree()[tx]; there {
			t.Errorf("left: %v", b.ens.Tree())
		}
		bubble.OK(t, "Propose() of another site", b.site(3, recipes.Options{}).Propose(t.Context(), nil))
		bubble.Expect(t, "after the proposal", a, "holds")
	})
}

// The number of events matches the theory: n(n-1) or 2(n-1), in addition to those of the proposal.
func TestTheEventsOfACommit(t *testing.T) {
	for _, n := range []int{2, 10, 50} {
		eachCommit(t, n, func(t *testing.T, b ballot) {
			var sites []voter
			var learning []*bubble.Attempt
			for i := range n {
				p := b.site(i+1, recipes.Options{})
				if sites = append(sites, p); i > 0 {
					learning = append(learning, bubble.Begin(func() (recipes.Grant, error) { _, err := p.Learn(t.Context()); return recipes.Grant{}, err }))
				}
			}
			before := bubble.Events(b.ens)
			bubble.OK(t, "Propose()", sites[0].Propose(t.Context(), nil))
			for _, a := range learning {
				<-a.Done
				bubble.OK(t, "Learn()", a.Err)
			}
			proposed := bubble.Events(b.ens)
			o := make([]*deciding, n)
			gate := make(chan struct{}) // all watch before the first vote arrives
			b.ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindSet && !op.Applied {
					<-gate
				}
				return zktest.Action{}
			})
			for i, p := range sites {
				o[i] = &deciding{}
				o[i].Attempt = bubble.Begin(func() (g recipes.Grant, err error) {
					if err = p.Vote(t.Context(), true); err == nil {
						o[i].commit, err = p.Decide(t.Context())
					}
					return g, err
				})
			}
			close(gate)
			for _, d := range o {
				<-d.Done
				d.is(t, "all voted", "commits")
			}
			after, arrival := b.v.Wakes(n)
			if got := bubble.Events(b.ens) - proposed; float64(got) > after || float64(got) < after/2 {
				t.Errorf("%d sites: %d events, want %v", n, got, after)
			}
			if got := proposed - before; float64(got) != arrival {
				t.Errorf("%d sites: the proposal caused %d events, want %v", n, got, arrival)
			}
		})
	}
}
