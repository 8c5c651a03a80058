package counter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/counter"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestCountersInMemory(t *testing.T) {
	for _, v := range counter.Variants() {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			recipestest.CounterOn(t, v, bubble.DialIn(ens), "/deep/down/counter")
		})
	}
}

func TestGeneratorsInMemory(t *testing.T) {
	for _, v := range counter.IDVariants() {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			recipestest.IDsOn(t, v, bubble.DialIn(ens), "/deep/down/ids")
		})
	}
}

func counterOn(s zk.Session, o recipes.Options) recipes.Counter {
	return counter.Variants()[0].New(s, "/n", o)
}

// every calls do each time a recipe passes the point.
func every(point string, do func()) recipes.Options {
	return recipes.Options{Trace: &recipes.Trace{Pause: func(p string) {
		if p == point {
			do()
		}
	}}}
}

// value returns what the counter holds.
func value(t *testing.T, ens *zktest.Ensemble) string {
	t.Helper()
	return strings.Fields(string(ens.Tree()["/n"].Data))[0]
}

// An addition with a lost request or reply is applied once, whatever others add in the meantime.
func TestAnAdditionWithALostReplyIsAppliedOnce(t *testing.T) {
	for _, kind := range []zk.Kind{zk.KindCreate, zk.KindSet} {
		for _, applied := range []bool{false, true} {
			for others := range 3 {
				bubble.Run(t, fmt.Sprint(kind, applied, others), func(t *testing.T, ens *zktest.Ensemble) {
					c, other := counterOn(ens.Dial(), recipes.Options{}), counterOn(ens.Dial(), recipes.Options{})
					if kind == zk.KindSet {
						_, err := other.Add(t.Context(), 1)
						bubble.OK(t, "Add()", err)
					}
					lost := false
					ens.Hook(func(op zktest.Op) zktest.Action {
						if op.Kind != kind || op.Applied != applied || lost {
							return zktest.Action{}
						}
						lost = true
						for range others { // before the client can check
							if _, err := other.Add(t.Context(), 10); err != nil {
								t.Error(err)
							}
						}
						return zktest.Action{Lose: true}
					})
					n, err := c.Add(t.Context(), 1)
					ens.Hook(nil)
					want := 1 + 10*others
					if kind == zk.KindSet {
						want++
					}
					if got := value(t, ens); err != nil || !lost || got != strconv.Itoa(want) {
						t.Errorf("Add() = %+v, %v; the counter holds %s, want %d", n, err, got, want)
					}
				})
			}
		}
	}
}

// An addition is in doubt if so many others follow that its tag may have been dropped, and if the client cannot check.
func TestAnAdditionInDoubt(t *testing.T) {
	for _, applied := range []bool{false, true} {
		bubble.Run(t, fmt.Sprint("overwritten", applied), func(t *testing.T, ens *zktest.Ensemble) {
			c, other := counterOn(ens.Dial(), recipes.Options{}), counterOn(ens.Dial(), recipes.Options{})
			_, err := other.Add(t.Context(), 1)
			bubble.OK(t, "Add()", err)
			lost := false
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind != zk.KindSet || op.Applied != applied || lost {
					return zktest.Action{}
				}
				lost = true
				for range 9 {
					if _, err := other.Add(t.Context(), 1); err != nil {
						t.Error(err)
					}
				}
				return zktest.Action{Lose: true}
			})
			if _, err := c.Add(t.Context(), 1); !errors.Is(err, recipes.ErrInDoubt) {
				t.Errorf("Add() = %v, want ErrInDoubt", err)
			}
		})
		bubble.Run(t, fmt.Sprint("cut off", applied), func(t *testing.T, ens *zktest.Ensemble) {
			s := ens.Dial()
			c := counterOn(s, recipes.Options{})
			_, err := c.Add(t.Context(), 1)
			bubble.OK(t, "Add()", err)
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindSet && op.Applied == applied {
					ens.Disconnect(s)
				}
				return zktest.Action{}
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := c.Add(ctx, 1); !errors.Is(err, recipes.ErrInDoubt) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Add() = %v, want ErrInDoubt with its cause", err)
			}
			ens.Hook(nil)
			ens.Reconnect(s)
			if n, err := c.Add(t.Context(), 1); err != nil || value(t, ens) != strconv.FormatInt(n.Value, 10) {
				t.Errorf("the next Add() = %+v, %v", n, err)
			}
		})
	}
	bubble.Run(t, "before it was sent", func(t *testing.T, ens *zktest.Ensemble) {
		ctx, cancel := context.WithCancel(t.Context())
		c := counterOn(ens.Dial(), bubble.At(recipes.PauseRead, cancel))
		if _, err := c.Add(ctx, 1); !errors.Is(err, context.Canceled) || errors.Is(err, recipes.ErrInDoubt) {
			t.Errorf("Add() = %v, want the context's error and no doubt", err)
		}
	})
}

func TestMissingAndInvalidCounters(t *testing.T) {
	bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		s := ens.Dial()
		c := counterOn(s, recipes.Options{})
		if n, err := c.Value(t.Context()); n != 0 || err != nil {
			t.Errorf("Value() of a missing counter = %d, %v, want 0", n, err)
		}
		_, err := s.Create(t.Context(), "/n", []byte("7"), zk.Persistent)
		bubble.OK(t, "Create()", err)
		if n, err := c.Add(t.Context(), 1); n.Value != 8 || err != nil {
			t.Errorf("Add() to a bare number = %+v, %v, want 8", n, err)
		}
		_, err = s.Set(t.Context(), "/n", []byte("seven"), zk.AnyVersion)
		bubble.OK(t, "Set()", err)
		if _, err := c.Add(t.Context(), 1); !errors.Is(err, recipes.ErrNoCounter) {
			t.Errorf("Add() to a word = %v, want ErrNoCounter", err)
		}
		bubble.OK(t, "Delete()", s.Delete(t.Context(), "/n", zk.AnyVersion))
		for range 2 { // first missing, then recreated by another client
			if _, err := c.Add(t.Context(), 1); !errors.Is(err, recipes.ErrCounterLost) {
				t.Errorf("Add() to a counter that was deleted = %v, want ErrCounterLost", err)
			}
			_, err = counterOn(ens.Dial(), recipes.Options{}).Add(t.Context(), 1)
			bubble.OK(t, "Add() by another", err)
		}
	})
	bubble.Run(t, "deleted between the read and the write", func(t *testing.T, ens *zktest.Ensemble) {
		s, other := ens.Dial(), ens.Dial()
		c := counterOn(s, bubble.At(recipes.PauseRead, func() { other.Delete(context.Background(), "/n", zk.AnyVersion) }))
		_, err := counterOn(other, recipes.Options{}).Add(t.Context(), 1)
		bubble.OK(t, "Add()", err)
		if _, err := c.Add(t.Context(), 1); !errors.Is(err, recipes.ErrCounterLost) {
			t.Errorf("Add() = %v, want ErrCounterLost", err)
		}
	})
}

// aged is a session that sees greater versions, to reach the wrap without 2^31 writes.
type aged struct {
	zk.Session
	by int32
}

func (a aged) Get(ctx context.Context, path string) ([]byte, zk.Stat, error) {
	data, st, err := a.Session.Get(ctx, path)
	st.Version += a.by
	return data, st, err
}

func (a aged) Set(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error) {
	if version != zk.AnyVersion {
		version -= a.by
	}
	st, err := a.Session.Set(ctx, path, data, version)
	st.Version += a.by
	return st, err
}

// The version reaches -1, which means any version in a write: of two clients that have read that state only one may write.
func TestACounterOverTheWrapOfItsVersion(t *testing.T) {
	bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		other := counterOn(aged{ens.Dial(), -3}, recipes.Options{})
		busy := false
		c := counterOn(aged{ens.Dial(), -3}, every(recipes.PauseRead, func() { // the other client adds between every other read and its write
			if busy = !busy; busy {
				if _, err := other.Add(t.Context(), 1); err != nil {
					t.Error(err)
				}
			}
		}))
		for range 4 {
			_, err := c.Add(t.Context(), 1)
			bubble.OK(t, "Add()", err)
		}
		turns := 0
		for path := range ens.Tree() {
			if strings.HasPrefix(path, "/n-wrap-") {
				turns++
			}
		}
		if got := value(t, ens); got != "8" || turns != 1 {
			t.Errorf("the counter holds %s after 8 additions, with %d znodes of a wrap; want 8 and 1", got, turns)
		}
	})
	bubble.Run(t, "over the sign", func(t *testing.T, ens *zktest.Ensemble) {
		c := counterOn(aged{ens.Dial(), math.MaxInt32 - 1}, recipes.Options{})
		for i := range int64(4) {
			if n, err := c.Add(t.Context(), 1); n.Value != i+1 || err != nil {
				t.Errorf("Add() = %+v, %v, want %d", n, err, i+1)
			}
		}
	})
}

// A client is promoted, and continues under the lock, after PromoteAfter refusals, not earlier.
func TestAClientThatIsRefusedIsPromoted(t *testing.T) {
	for refusals := range 4 {
		bubble.Run(t, fmt.Sprint(refusals), func(t *testing.T, ens *zktest.Ensemble) {
			other := counterOn(ens.Dial(), recipes.Options{})
			left := refusals
			o := every(recipes.PauseRead, func() {
				if left > 0 {
					left--
					if _, err := other.Add(t.Context(), 1); err != nil {
						t.Error(err)
					}
				}
			})
			_, err := other.Add(t.Context(), 1)
			bubble.OK(t, "Add()", err)
			o.PromoteAfter = 2
			n, err := counter.Variants()[1].New(ens.Dial(), "/n", o).Add(t.Context(), 1)
			if err != nil || n.Promoted != (refusals >= 2) || n.Attempts != refusals+1 || n.Value != int64(refusals+2) {
				t.Errorf("Add() after %d refusals = %+v, %v, want it promoted from 2 on", refusals, n, err)
			}
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("the lock is left: %v", left)
			}
		})
	}
}

// A promoted client that gives up waiting for the lock adds nothing and leaves nothing behind.
func TestAPromotedClientThatGivesUp(t *testing.T) {
	bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		other := counterOn(ens.Dial(), recipes.Options{})
		_, err := other.Add(t.Context(), 1)
		bubble.OK(t, "Add()", err)
		_, err = bubble.Find(t, lock.Variants(), "predecessor").New(ens.Dial(), "/n-lock", recipes.Options{}).Acquire(t.Context())
		bubble.OK(t, "Acquire()", err)
		o := every(recipes.PauseRead, func() { other.Add(context.Background(), 1) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = counter.Variants()[1].New(ens.Dial(), "/n", o).Add(ctx, 1)
		synctest.Wait() // the place in the queue is removed in the background
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, recipes.ErrInDoubt) || value(t, ens) != "2" || len(ens.Ephemerals()) != 1 {
			t.Errorf("Add() = %v; the counter holds %s, znodes %v", err, value(t, ens), ens.Ephemerals())
		}
	})
}
