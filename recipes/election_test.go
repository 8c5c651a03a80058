package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// electionSuite is what every election of the catalogue must do.
func electionSuite(t *testing.T, v recipes.Variant[recipes.Election], dial func(*testing.T) zk.Session, dir string) {
	ctx := t.Context()
	t.Run("campaign, resign, campaign again", func(t *testing.T) {
		e := v.New(dial(t), dir, recipes.Options{ID: "alone"})
		if err := e.Resign(ctx); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Resign() of nothing = %v, want ErrNotHeld", err)
		}
		if _, err := e.Leader(ctx); !errors.Is(err, recipes.ErrNoLeader) {
			t.Errorf("Leader() of no candidate = %v, want ErrNoLeader", err)
		}
		last := int64(0)
		for range 3 {
			term, err := e.Campaign(ctx)
			ok(t, "Campaign()", err)
			if term.Token <= last {
				t.Errorf("token %d after %d, want it to grow", term.Token, last)
			}
			last = term.Token
			if l, err := e.Leader(ctx); err != nil || l != (recipes.Leader{ID: "alone", Path: term.Path, Token: term.Token}) {
				t.Errorf("Leader() = %+v, %v, want the one of term %+v", l, err, term)
			}
			if _, err := e.Campaign(ctx); !errors.Is(err, recipes.ErrHeld) {
				t.Errorf("Campaign() of the leader = %v, want ErrHeld", err)
			}
			ok(t, "Resign()", e.Resign(ctx))
			<-term.Lost
		}
	})
	t.Run("one leader at a time, with growing tokens", func(t *testing.T) {
		const candidates, rounds = 12, 4
		var leaders, token atomic.Int64
		var all sync.WaitGroup
		for range candidates {
			e := v.New(dial(t), dir, recipes.Options{})
			all.Go(func() {
				for range rounds {
					term, err := e.Campaign(ctx)
					if err != nil {
						t.Errorf("Campaign() = %v", err)
						return
					}
					if n := leaders.Add(1); n != 1 {
						t.Errorf("%d leaders at once", n)
					}
					if before := token.Swap(term.Token); before >= term.Token {
						t.Errorf("term %d after %d", term.Token, before)
					}
					leaders.Add(-1)
					if err := e.Resign(ctx); err != nil {
						t.Errorf("Resign() = %v", err)
					}
				}
			})
		}
		all.Wait()
	})
	t.Run("an observer follows the leaders", func(t *testing.T) {
		observer := v.New(dial(t), dir, recipes.Options{}).(recipes.Follower)
		first, second := v.New(dial(t), dir, recipes.Options{ID: "first"}), v.New(dial(t), dir, recipes.Options{ID: "second"})
		known := int64(0)
		follow := func(want string) {
			t.Helper()
			l, err := observer.Follow(ctx, known)
			if err != nil || l.ID != want {
				t.Fatalf("Follow() = %+v, %v, want %q", l, err, want)
			}
			known = l.Token
		}
		_, err := first.Campaign(ctx)
		ok(t, "Campaign()", err)
		follow("first")
		done := make(chan error)
		go func() {
			_, err := second.Campaign(ctx)
			done <- err
		}()
		ok(t, "Resign()", first.Resign(ctx))
		ok(t, "Campaign()", <-done)
		for l := (recipes.Leader{}); l.ID != "second"; known = l.Token { // between the two nobody may have stood
			l, err = observer.Follow(ctx, known)
			ok(t, "Follow()", err)
		}
		ok(t, "Resign()", second.Resign(ctx))
		follow("")
	})
}

func TestElectionsInMemory(t *testing.T) {
	for _, v := range recipes.Elections {
		t.Run(v.Name, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			electionSuite(t, v, dialIn(ens), dir)
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// eachElection runs a test for each election in a bubble with a fresh ensemble.
func eachElection(t *testing.T, test func(*testing.T, recipes.Variant[recipes.Election], *zktest.Ensemble)) {
	for _, v := range recipes.Elections {
		bubble(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) { test(t, v, ens) })
	}
}

func findElection(t *testing.T, name string) recipes.Variant[recipes.Election] {
	t.Helper()
	v, found := recipes.Find(append(recipes.PublishedElections[:len(recipes.PublishedElections):len(recipes.PublishedElections)],
		recipes.Elections...), name)
	if !found {
		t.Fatalf("no election %s", name)
	}
	return v
}

// standing is a handle on an election and its latest campaign.
type standing struct {
	*attempt
	election recipes.Election
	session  *zktest.Session
	term     recipes.Term
}

// stand begins a campaign with a handle of its own.
func stand(ctx context.Context, v recipes.Variant[recipes.Election], s *zktest.Session, o recipes.Options) *standing {
	c := &standing{election: v.New(s, dir, o), session: s}
	c.again(ctx)
	return c
}

// again begins another campaign.
func (c *standing) again(ctx context.Context) {
	c.attempt = begin(func() (recipes.Grant, error) {
		term, err := c.election.Campaign(ctx)
		if err == nil {
			c.term = term
		}
		return recipes.Grant{Path: term.Path, Token: term.Token}, err
	})
}

// leads fails the test unless this one leads.
func (c *standing) leads(t *testing.T, what string) {
	t.Helper()
	expect(t, what, c.attempt, "holds")
}

// stands fails the test unless this one is still a candidate.
func (c *standing) stands(t *testing.T, what string) {
	t.Helper()
	expect(t, what, c.attempt, "waits")
}

func (c *standing) resigns(t *testing.T) {
	t.Helper()
	ok(t, "Resign()", c.election.Resign(t.Context()))
}

func TestLeadersComeInTheOrderOfTheCandidates(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		var all []*standing
		for range 10 {
			all = append(all, stand(t.Context(), v, ens.Dial(), recipes.Options{}))
		}
		last := int64(0)
		for i, c := range all {
			c.leads(t, fmt.Sprintf("candidate %d, when all before have gone", i))
			if c.term.Token <= last {
				t.Errorf("term %d after %d", c.term.Token, last)
			}
			last = c.term.Token
			if i+1 < len(all) {
				all[i+1].stands(t, "the next one")
			}
			if i%2 == 0 {
				c.resigns(t)
			} else {
				c.session.Close()
			}
		}
	})
}

// The events of a resignation among n candidates by theory, and one that tells the leader of its own znode.
func TestEventsOfAnElectionAreTheTheory(t *testing.T) {
	const n = 12
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		leader := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		for range n - 1 {
			stand(t.Context(), v, ens.Dial(), recipes.Options{})
		}
		before := eventsOf(ens)
		leader.resigns(t)
		synctest.Wait()
		release, _ := v.Wakes(n)
		if got := eventsOf(ens) - before; got != int(release)+1 {
			t.Errorf("%d events at a resignation among %d, want %v and the leader's own", got, n, release)
		}
	})
}

func TestStagesOfAnElection(t *testing.T) {
	for _, name := range []string{"predecessor", "article-000-election"} {
		bubble(t, name, func(t *testing.T, ens *zktest.Ensemble) {
			makeDir(t, ens.Dial())
			v := findElection(t, name)
			first := stand(t.Context(), v, ens.Dial(), recipes.Options{})
			var seen []string
			next := stand(t.Context(), v, ens.Dial(), recipes.Options{Trace: &recipes.Trace{Stage: func(s string) { seen = append(seen, s) }}})
			next.stands(t, "behind the first")
			first.resigns(t)
			next.leads(t, "after the first")
			next.resigns(t)
			want := "[START OFFER_START OFFER_COMPLETE DETERMINE_START DETERMINE_COMPLETE READY_START READY_COMPLETE " +
				"DETERMINE_START DETERMINE_COMPLETE ELECTED_START ELECTED_COMPLETE STOP_START STOP_COMPLETE]"
			if name == "predecessor" { // determines once, however often it looks
				want = "[START OFFER_START OFFER_COMPLETE DETERMINE_START READY_START READY_COMPLETE DETERMINE_COMPLETE " +
					"ELECTED_START ELECTED_COMPLETE STOP_START STOP_COMPLETE]"
			}
			if got := fmt.Sprint(seen); got != want {
				t.Errorf("stages\n%s, want\n%s", got, want)
			}
		})
	}
}
