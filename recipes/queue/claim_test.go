package queue_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// claimer returns a handle on a queue whose items are claimed.
func claimer(s zk.Session, o recipes.Options) recipes.Claimer {
	v, _ := recipes.Find(queue.Variants(), "claim")
	return v.New(s, bubble.Dir, o).(recipes.Claimer)
}

// claiming is a running call of Claim.
type claiming struct {
	q    recipes.Claimer
	c    recipes.Claim
	err  error
	done chan struct{}
}

// held is a claim and the handle that holds it.
type held struct {
	recipes.Claim
	q recipes.Claimer
}

func (h held) finish(t *testing.T) error { return h.q.Finish(t.Context(), h.Claim) }

func (h held) release(t *testing.T) error { return h.q.Release(t.Context(), h.Claim) }

func claim(t *testing.T, q recipes.Claimer) *claiming {
	c := &claiming{q: q, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.c, c.err = q.Claim(t.Context())
	}()
	synctest.Wait()
	return c
}

func (c *claiming) waits() bool {
	synctest.Wait()
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

func (c *claiming) expect(t *testing.T, what, want string) held {
	t.Helper()
	if c.waits() || c.err != nil || string(c.c.Data) != want {
		t.Fatalf("%s: %v, %v, want a claim of %q", what, c.c, c.err, want)
	}
	return held{c.c, c.q}
}

// inClaims runs a test with n items in the queue.
func inClaims(t *testing.T, n int, test func(*testing.T, *zktest.Ensemble)) {
	bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		q := claimer(ens.Dial(), recipes.Options{})
		for i := range n {
			bubble.OK(t, "Put()", bubble.Second(q.Put(t.Context(), bubble.Item(i))))
		}
		test(t, ens)
	})
}

// Element looks again if all items that it found have been taken before it reads them.
func TestElementOfItemsThatAreTakenMeanwhile(t *testing.T) {
	inClaims(t, 1, func(t *testing.T, ens *zktest.Ensemble) {
		s, other := ens.Dial(), claimer(ens.Dial(), recipes.Options{})
		taken := false
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Session == s && op.Kind == zk.KindGet && !op.Applied && !taken {
				taken = true
				c, err := other.Claim(t.Context())
				bubble.OK(t, "Claim() of another consumer", err)
				bubble.OK(t, "Finish()", other.Finish(t.Context(), c))
				bubble.OK(t, "Put()", bubble.Second(other.Put(t.Context(), bubble.Item(1))))
			}
			return zktest.Action{}
		})
		it, err := claimer(s, recipes.Options{}).Element(t.Context())
		bubble.Got(t, "Element()", it, err, "1")
		if !taken {
			t.Error("no item was read")
		}
	})
}

func TestAClaimIsFinishedOnce(t *testing.T) {
	inClaims(t, 2, func(t *testing.T, ens *zktest.Ensemble) {
		q := claimer(ens.Dial(), recipes.Options{})
		a := claim(t, q).expect(t, "the first", "0")
		b := claim(t, claimer(ens.Dial(), recipes.Options{})).expect(t, "of another consumer", "1")
		third := claim(t, claimer(ens.Dial(), recipes.Options{}))
		if !third.waits() {
			t.Error("an item that others have claimed was claimed")
		}
		if a.Token == 0 || b.Token <= a.Token {
			t.Errorf("tokens %d and %d, want them to grow", a.Token, b.Token)
		}
		bubble.OK(t, "Finish()", a.finish(t))
		if err := a.finish(t); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("second Finish() = %v, want ErrNotHeld", err)
		}
		if !third.waits() {
			t.Error("a finished item was claimed")
		}
		bubble.OK(t, "Release()", b.release(t))
		if err := b.finish(t); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("Finish() after Release() = %v, want ErrNotHeld", err)
		}
		again := third.expect(t, "after the release", "1")
		if again.Token <= b.Token {
			t.Errorf("token %d after %d, want it to grow", again.Token, b.Token)
		}
		bubble.OK(t, "Finish()", again.finish(t))
		if n := items(ens); n != 0 {
			t.Errorf("%d items left", n)
		}
	})
}

func TestThreeConsumersOfOneItem(t *testing.T) {
	inClaims(t, 1, func(t *testing.T, ens *zktest.Ensemble) {
		gate := make(chan struct{})
		o := recipes.Options{Trace: &recipes.Trace{Pause: func(point string) {
			if point == recipes.PauseListed { // all list the item before any claims it
				<-gate
			}
		}}}
		var all []*claiming
		for range 3 {
			all = append(all, claim(t, claimer(ens.Dial(), o)))
		}
		close(gate)
		all = slices.DeleteFunc(all, (*claiming).waits)
		if len(all) != 1 {
			t.Fatalf("%d consumers have claimed the one item, want 1", len(all))
		}
		bubble.OK(t, "Finish()", all[0].expect(t, "the one", "0").finish(t))
	})
}

func TestTheItemOfADeadConsumerIsDeliveredAgain(t *testing.T) {
	inClaims(t, 1, func(t *testing.T, ens *zktest.Ensemble) {
		s := ens.Dial()
		dead := claim(t, claimer(s, recipes.Options{})).expect(t, "the first", "0")
		next := claim(t, claimer(ens.Dial(), recipes.Options{}))
		ens.Expire(s)
		<-dead.Lost
		c := next.expect(t, "after the consumer's end", "0")
		if c.Token <= dead.Token {
			t.Errorf("token %d after %d, want it to grow", c.Token, dead.Token)
		}
		if err := dead.finish(t); !errors.Is(err, recipes.ErrClaimLost) || errors.Is(err, recipes.ErrInDoubt) {
			t.Errorf("Finish() of the dead = %v, want ErrClaimLost", err)
		}
		if n := items(ens); n != 1 {
			t.Errorf("%d items, want the one that was not finished", n)
		}
		bubble.OK(t, "Finish()", c.finish(t))
	})
}

// If an item is taken between a consumer's list and its claim, the claim is removed and the consumer waits for another item.
func TestAClaimOfAFinishedItemIsRemoved(t *testing.T) {
	inClaims(t, 1, func(t *testing.T, ens *zktest.Ensemble) {
		q, once := claimer(ens.Dial(), recipes.Options{}), false
		late := claim(t, claimer(ens.Dial(), recipes.Options{Trace: &recipes.Trace{Pause: func(point string) {
			if point == recipes.PauseListed && !once {
				once = true
				if _, err := q.Take(t.Context()); err != nil {
					t.Errorf("Take() = %v", err)
				}
			}
		}}}))
		if !late.waits() {
			t.Errorf("Claim() = %v, %v, want it to wait", late.c, late.err)
		}
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("claims left: %v", left)
		}
		bubble.OK(t, "Put()", bubble.Second(q.Put(t.Context(), bubble.Item(5))))
		late.expect(t, "the next item", "5")
	})
}

// If all listed items are finished before the first claim, the consumer finds out with one claim, not one for each item.
func TestAStaleListCostsOneClaim(t *testing.T) {
	inClaims(t, 20, func(t *testing.T, ens *zktest.Ensemble) {
		q, once := claimer(ens.Dial(), recipes.Options{}), false
		late := ens.Dial()
		creates := 0
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Session == late && op.Kind == zk.KindCreate && op.Applied {
				creates++
			}
			return zktest.Action{}
		})
		p := claim(t, claimer(late, recipes.Options{Trace: &recipes.Trace{Pause: func(point string) {
			for range 20 {
				if point != recipes.PauseListed || once {
					break
				}
				if _, err := q.Remove(t.Context()); err != nil {
					t.Errorf("Remove() = %v", err)
				}
			}
			once = once || point == recipes.PauseListed
		}}}))
		if !p.waits() || creates != 1 {
			t.Errorf("%d claims of finished items, want 1", creates)
		}
		ens.Hook(nil)
		bubble.OK(t, "Put()", bubble.Second(q.Put(t.Context(), bubble.Item(5))))
		p.expect(t, "the next item", "5")
	})
}

func TestLostRepliesOfAClaim(t *testing.T) {
	for _, kind := range []zk.Kind{zk.KindCreate, zk.KindMulti} {
		for _, applied := range []bool{false, true} {
			inClaims(t, 1, func(t *testing.T, ens *zktest.Ensemble) {
				q := claimer(ens.Dial(), recipes.Options{})
				lost := bubble.LoseOnce(ens, kind, applied, func(string) bool { return true })
				p := claim(t, q)
				<-p.done
				c := p.expect(t, "the claim", "0")
				if c.Token == 0 || len(ens.Ephemerals()) != 1 {
					t.Errorf("token %d, claims %v", c.Token, ens.Ephemerals())
				}
				bubble.OK(t, "Finish()", c.finish(t))
				ens.Hook(nil)
				if n := items(ens) + len(ens.Ephemerals()); n != 0 || !*lost {
					t.Errorf("%d znodes left, reply lost: %v", n, *lost)
				}
			})
		}
	}
}

func TestACancelledClaim(t *testing.T) {
	inClaims(t, 1, func(t *testing.T, ens *zktest.Ensemble) {
		ctx, cancel := context.WithCancel(t.Context())
		reply := make(chan struct{})
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindCreate && op.Applied {
				cancel()
				<-reply
			}
			return zktest.Action{}
		})
		_, err := claimer(ens.Dial(), recipes.Options{}).Claim(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Claim() = %v, want the context's error", err)
		}
		ens.Hook(nil)
		close(reply)
		claim(t, claimer(ens.Dial(), recipes.Options{})).expect(t, "another consumer, after the claim in doubt was deleted", "0")
	})
}

func TestAnInterruptedFinishIsInDoubt(t *testing.T) {
	for _, applied := range []bool{false, true} {
		inClaims(t, 1, func(t *testing.T, ens *zktest.Ensemble) {
			s := ens.Dial()
			c := claim(t, claimer(s, recipes.Options{})).expect(t, "the claim", "0")
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindMulti && op.Applied == applied {
					ens.Expire(s)
				}
				return zktest.Action{}
			})
			err := c.finish(t)
			var doubt *recipes.InDoubtError
			if !errors.As(err, &doubt) || string(doubt.Item.Data) != "0" {
				t.Errorf("Finish() = %v, want in doubt with the item", err)
			}
		})
	}
}

// A claim is lost when somebody deletes it or its session ends. Its consumer can neither finish nor release it, and the item is delivered again.
func TestLostClaims(t *testing.T) {
	for name, end := range map[string]func(held, *testing.T) error{"Finish()": held.finish, "Release()": held.release} {
		for what, lose := range map[string]func(*testing.T, *zktest.Ensemble, *zktest.Session){
			"somebody deletes it": func(t *testing.T, ens *zktest.Ensemble, _ *zktest.Session) {
				bubble.OK(t, "Delete()", ens.Dial().Delete(t.Context(), ens.Ephemerals()[0], zk.AnyVersion))
			},
			"its session ends": func(_ *testing.T, ens *zktest.Ensemble, s *zktest.Session) { ens.Expire(s) },
		} {
			inClaims(t, 1, func(t *testing.T, ens *zktest.Ensemble) {
				s := ens.Dial()
				lost := claim(t, claimer(s, recipes.Options{})).expect(t, "the claim", "0")
				lose(t, ens, s)
				if err := end(lost, t); !errors.Is(err, recipes.ErrClaimLost) {
					t.Errorf("%s: %s = %v, want ErrClaimLost", what, name, err)
				}
				claim(t, claimer(ens.Dial(), recipes.Options{})).expect(t, "the next", "0")
			})
		}
	}
}

// The last reply of a claim arrives after the lease that it started under has ended. The claim must be under the new lease.
func TestALateClaimIsUnderTheNewLease(t *testing.T) {
	bubble.Run(t, "claim", func(t *testing.T, ens *zktest.Ensemble) {
		s := ens.Dial()
		q := claimer(s, recipes.Options{})
		_, err := q.Put(t.Context(), bubble.Item(1))
		bubble.OK(t, "Put()", err)
		bubble.LateReply(ens, s, zk.KindGet, bubble.Dir)
		c, err := q.Claim(t.Context())
		bubble.OK(t, "Claim()", err)
		bubble.Reliable(t, recipes.Grant{Lost: c.Lost})
		bubble.OK(t, "Finish()", q.Finish(t.Context(), c))
	})
}
