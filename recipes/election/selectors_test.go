package election_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Five selectors that requeue lead in turn, in the same order in every round.
func TestSelectorsRotate(t *testing.T) {
	bubble.Run(t, "selector", func(t *testing.T, ens *zktest.Ensemble) {
		const n, rounds = 5, 4
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var order []int
		done := make(chan error, n)
		for i := range n {
			l := election.NewSelector(ens.Dial(), bubble.Dir, recipes.Options{})
			go func() {
				done <- l.Run(ctx, func(context.Context, recipes.Term) error {
					if order = append(order, i); len(order) == n*rounds { // only the leader's function runs
						stop()
					}
					time.Sleep(time.Millisecond) // lets the others queue again
					return nil
				})
			}()
			synctest.Wait()
		}
		for range n {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("Run() = %v, want the end of its context", err)
			}
		}
		for r := range rounds {
			if round := order[r*n : (r+1)*n]; !slices.Equal(round, order[:n]) {
				t.Errorf("round %d is %v, want %v", r, round, order[:n])
			}
		}
	})
}

func TestASelectorReleasesHoweverItsFunctionEnds(t *testing.T) {
	failure := errors.New("the function fails")
	for name, end := range map[string]func() error{
		"returns": func() error { return nil },
		"fails":   func() error { return failure },
		"panics":  func() error { panic(failure) },
	} {
		bubble.Run(t, name, func(t *testing.T, ens *zktest.Ensemble) {
			l := election.NewSelector(ens.Dial(), bubble.Dir, recipes.Options{})
			var next *bubble.Standing
			func() {
				defer func() {
					if p := recover(); (p != nil) != (name == "panics") {
						t.Errorf("recovered %v", p)
					}
				}()
				err := l.Once(t.Context(), func(context.Context, recipes.Term) error {
					next = bubble.Stand(t.Context(), bubble.Find(t, election.Variants(), "predecessor"), ens.Dial(), recipes.Options{})
					next.IsCandidate(t, "behind the selector")
					return end()
				})
				if want := map[string]error{"fails": failure}[name]; !errors.Is(err, want) {
					t.Errorf("Once() = %v, want %v", err, want)
				}
			}()
			next.Leads(t, "after the function")
		})
	}
}

// From kazoo's test_election: the second candidate gives up, and the third is elected after the first.
func TestACancelledCandidateIsSkipped(t *testing.T) {
	bubble.Each(t, election.Variants(), func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		first := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		second := bubble.Stand(ctx, v, ens.Dial(), recipes.Options{})
		third := bubble.Stand(t.Context(), v, ens.Dial(), recipes.Options{})
		cancel()
		bubble.Expect(t, "cancelled", second, "failed")
		third.IsCandidate(t, "while the first leads")
		first.Resigns(t)
		third.Leads(t, "after the first")
		second.Again(t.Context())
		second.IsCandidate(t, "again, behind the third")
	})
}

// A function that ignores its context outlives its term; the fence rejects its writes.
func TestASlowFunctionIsFenced(t *testing.T) {
	bubble.Run(t, "selector", func(t *testing.T, ens *zktest.Ensemble) {
		var register recipes.FencedRegister
		s := ens.Dial()
		l := election.NewSelector(s, bubble.Dir, recipes.Options{})
		started, finish, done := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			done <- l.Once(t.Context(), func(ctx context.Context, term recipes.Term) error {
				bubble.OK(t, "Write()", register.Write(term.Token, []byte("slow")))
				close(started)
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), recipes.ErrTermLost) {
					t.Errorf("the context ends because of %v, want ErrTermLost", context.Cause(ctx))
				}
				<-finish
				return register.Write(term.Token, []byte("late"))
			})
		}()
		<-started
		ens.Expire(s)
		next := bubble.Stand(t.Context(), bubble.Find(t, election.Variants(), "selector"), ens.Dial(), recipes.Options{})
		next.Leads(t, "after the expiry")
		bubble.OK(t, "Write()", register.Write(next.Term.Token, []byte("next")))
		close(finish)
		if err := <-done; !errors.Is(err, recipes.ErrStale) {
			t.Errorf("Once() = %v, want ErrStale", err)
		}
		if seen := register.Seen(); seen.StaleRejected != 1 || seen.StaleAccepted != 0 {
			t.Errorf("the register has seen %+v", seen)
		}
	})
}

// When the connection is lost, the function's context ends immediately, and the znode is removed after the reconnection.
func TestASuspendedSelectorGivesUpItsTerm(t *testing.T) {
	bubble.Run(t, "selector", func(t *testing.T, ens *zktest.Ensemble) {
		s := ens.Dial()
		l := election.NewSelector(s, bubble.Dir, recipes.Options{})
		started, done := make(chan struct{}), make(chan error, 1)
		go func() {
			done <- l.Once(t.Context(), func(ctx context.Context, _ recipes.Term) error {
				close(started)
				<-ctx.Done()
				return nil
			})
		}()
		<-started
		next := bubble.Stand(t.Context(), bubble.Find(t, election.Variants(), "predecessor"), ens.Dial(), recipes.Options{})
		ens.Disconnect(s)
		next.IsCandidate(t, "while the selector's znode exists")
		ens.Reconnect(s)
		if err := <-done; !errors.Is(err, recipes.ErrTermLost) {
			t.Errorf("Once() = %v, want ErrTermLost", err)
		}
		next.Leads(t, "after the selector has given up")
	})
}

// Run requeues after a lost term, and returns the first error of its function.
func TestASelectorRequeuesAfterALostTerm(t *testing.T) {
	bubble.Run(t, "selector", func(t *testing.T, ens *zktest.Ensemble) {
		failure := errors.New("the function fails")
		s := ens.Dial()
		l := election.NewSelector(s, bubble.Dir, recipes.Options{})
		terms, done := make(chan recipes.Term), make(chan error, 1)
		go func() {
			round := 0
			done <- l.Run(t.Context(), func(ctx context.Context, term recipes.Term) error {
				terms <- term
				if round++; round == 2 {
					return failure
				}
				<-ctx.Done()
				return ctx.Err()
			})
		}()
		first := <-terms
		ens.Disconnect(s)
		ens.Reconnect(s)
		if second := <-terms; second.Token <= first.Token {
			t.Errorf("term %d after %d", second.Token, first.Token)
		}
		if err := <-done; !errors.Is(err, failure) {
			t.Errorf("Run() = %v, want the function's error", err)
		}
	})
}
