package recipes_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Five selectors that requeue lead one after the other, round after round.
func TestSelectorsRotate(t *testing.T) {
	bubble(t, "selector", func(t *testing.T, ens *zktest.Ensemble) {
		const n, rounds = 5, 4
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var order []int
		done := make(chan error, n)
		for i := range n {
			l := recipes.NewSelector(ens.Dial(), dir, recipes.Options{})
			go func() {
				done <- l.Run(ctx, func(context.Context, recipes.Term) error {
					if order = append(order, i); len(order) == n*rounds { // the leader alone runs
						stop()
					}
					time.Sleep(time.Millisecond) // the others have queued again
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
		bubble(t, name, func(t *testing.T, ens *zktest.Ensemble) {
			l := recipes.NewSelector(ens.Dial(), dir, recipes.Options{})
			var next *standing
			func() {
				defer func() {
					if p := recover(); (p != nil) != (name == "panics") {
						t.Errorf("recovered %v", p)
					}
				}()
				err := l.Once(t.Context(), func(context.Context, recipes.Term) error {
					next = stand(t.Context(), findElection(t, "predecessor"), ens.Dial(), recipes.Options{})
					next.stands(t, "behind the selector")
					return end()
				})
				if want := map[string]error{"fails": failure}[name]; !errors.Is(err, want) {
					t.Errorf("Once() = %v, want %v", err, want)
				}
			}()
			next.leads(t, "after the function")
		})
	}
}

// As kazoo's test_election has it: the second candidate gives up, and the third is elected after the first.
func TestACandidateThatIsCancelledIsSkipped(t *testing.T) {
	eachElection(t, func(t *testing.T, v recipes.Variant[recipes.Election], ens *zktest.Ensemble) {
		first := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		second := stand(ctx, v, ens.Dial(), recipes.Options{})
		third := stand(t.Context(), v, ens.Dial(), recipes.Options{})
		cancel()
		expect(t, "cancelled", second.attempt, "failed")
		third.stands(t, "while the first leads")
		first.resigns(t)
		third.leads(t, "after the first")
		second.again(t.Context())
		second.stands(t, "again, behind the third")
	})
}

// A function that does not heed its context outlives its term; the fence keeps out what it writes.
func TestASlowFunctionIsFenced(t *testing.T) {
	bubble(t, "selector", func(t *testing.T, ens *zktest.Ensemble) {
		var register recipes.FencedRegister
		s := ens.Dial()
		l := recipes.NewSelector(s, dir, recipes.Options{})
		begun, finish, done := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			done <- l.Once(t.Context(), func(ctx context.Context, term recipes.Term) error {
				ok(t, "Write()", register.Write(term.Token, []byte("slow")))
				close(begun)
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), recipes.ErrTermLost) {
					t.Errorf("the context ends because of %v, want ErrTermLost", context.Cause(ctx))
				}
				<-finish
				return register.Write(term.Token, []byte("late"))
			})
		}()
		<-begun
		ens.Expire(s)
		next := stand(t.Context(), findElection(t, "selector"), ens.Dial(), recipes.Options{})
		next.leads(t, "after the expiry")
		ok(t, "Write()", register.Write(next.term.Token, []byte("next")))
		close(finish)
		if err := <-done; !errors.Is(err, recipes.ErrStale) {
			t.Errorf("Once() = %v, want ErrStale", err)
		}
		if seen := register.Seen(); seen.StaleRejected != 1 || seen.StaleAccepted != 0 {
			t.Errorf("the register has seen %+v", seen)
		}
	})
}

// The function is told of a lost connection at once, and its znode goes when there is one again.
func TestASuspendedSelectorGivesItsTermUp(t *testing.T) {
	bubble(t, "selector", func(t *testing.T, ens *zktest.Ensemble) {
		s := ens.Dial()
		l := recipes.NewSelector(s, dir, recipes.Options{})
		begun, done := make(chan struct{}), make(chan error, 1)
		go func() {
			done <- l.Once(t.Context(), func(ctx context.Context, _ recipes.Term) error {
				close(begun)
				<-ctx.Done()
				return nil
			})
		}()
		<-begun
		next := stand(t.Context(), findElection(t, "predecessor"), ens.Dial(), recipes.Options{})
		ens.Disconnect(s)
		next.stands(t, "while the znode of the selector is there")
		ens.Reconnect(s)
		if err := <-done; !errors.Is(err, recipes.ErrTermLost) {
			t.Errorf("Once() = %v, want ErrTermLost", err)
		}
		next.leads(t, "after the selector has given up")
	})
}

// Run queues again after a lost term, and ends with the first error of its function.
func TestASelectorRequeuesAfterALostTerm(t *testing.T) {
	bubble(t, "selector", func(t *testing.T, ens *zktest.Ensemble) {
		failure := errors.New("the function fails")
		s := ens.Dial()
		l := recipes.NewSelector(s, dir, recipes.Options{})
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
