package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// counterSuite is what every counter of the catalogue must do.
func counterSuite(t *testing.T, v recipes.Variant[recipes.Counter], dial func(*testing.T) zk.Session, path string) {
	const clients, rounds = 4, 6
	ctx := t.Context()
	var mu sync.Mutex
	var values []int64
	var all sync.WaitGroup
	for range clients {
		c := v.New(dial(t), path, recipes.Options{})
		all.Go(func() {
			last := int64(0)
			for range rounds {
				n, err := c.Add(ctx, 1)
				if err != nil || n.Value <= last || n.Attempts < 1 || n.Token == 0 && n.Value > 1 { // not every engine's create tells it
					t.Errorf("Add() after %d = %+v, %v; want more, with a token", last, n, err)
					return
				}
				last = n.Value
				mu.Lock()
				values = append(values, n.Value)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(values)
	for i, n := range values {
		if n != int64(i+1) {
			t.Fatalf("the values in order are %v, want each from 1 to %d once", values, clients*rounds)
		}
	}
	s := dial(t)
	ok(t, "Sync()", s.Sync(ctx, path))
	c := v.New(s, path, recipes.Options{})
	if n, err := c.Value(ctx); n != clients*rounds || err != nil {
		t.Errorf("Value() = %d, %v, want %d", n, err, clients*rounds)
	}
	if n, err := c.Add(ctx, -100); n.Value != clients*rounds-100 || err != nil {
		t.Errorf("Add(-100) = %+v, %v, want %d", n, err, clients*rounds-100)
	}
}

func TestCountersInMemory(t *testing.T) {
	for _, v := range recipes.Counters {
		bubble(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) { counterSuite(t, v, dialIn(ens), "/deep/down/counter") })
	}
}

// generatorSuite is what every generator of ids must do.
func generatorSuite(t *testing.T, v recipes.Variant[recipes.IDs], dial func(*testing.T) zk.Session, path string) {
	const clients, rounds = 4, 6
	var mu sync.Mutex
	given := map[int64]bool{}
	var all sync.WaitGroup
	for range clients {
		g := v.New(dial(t), path, recipes.Options{})
		all.Go(func() {
			last := int64(0)
			for range rounds {
				id, err := g.Next(t.Context())
				mu.Lock()
				if err != nil || id <= last || given[id] {
					t.Errorf("Next() after %d = %d, %v, given before: %v", last, id, err, given[id])
				}
				given[id] = true
				mu.Unlock()
				last = id
			}
		})
	}
	all.Wait()
	if len(given) != clients*rounds {
		t.Errorf("%d ids, want %d", len(given), clients*rounds)
	}
	names, _, err := dial(t).Children(t.Context(), path)
	if err != nil || len(names) != 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func TestGeneratorsInMemory(t *testing.T) {
	for _, v := range recipes.Generators {
		bubble(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) { generatorSuite(t, v, dialIn(ens), "/deep/down/ids") })
	}
}

func TestNumbersOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range recipes.Counters {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				counterSuite(t, v, dialer(addresses, open), "/real/numbers/"+engine+"-"+v.Name)
			})
		}
		for _, v := range recipes.Generators {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				generatorSuite(t, v, dialer(addresses, open), "/real/numbers/"+engine+"-"+v.Name)
			})
		}
	}
}

func counterOn(s zk.Session, o recipes.Options) recipes.Counter {
	return recipes.Counters[0].New(s, "/n", o)
}

// every calls do each time that a recipe passes the point.
func every(point string, do func()) recipes.Options {
	return recipes.Options{Trace: &recipes.Trace{Pause: func(p string) {
		if p == point {
			do()
		}
	}}}
}

// value is what the counter holds.
func value(t *testing.T, ens *zktest.Ensemble) string {
	t.Helper()
	return strings.Fields(string(ens.Tree()["/n"].Data))[0]
}

// The reply to an addition is lost. It is made once, whether the servers had carried it out or not, and whoever else adds meanwhile.
func TestAnAdditionWhoseReplyIsLostIsMadeOnce(t *testing.T) {
	for _, kind := range []zk.Kind{zk.KindCreate, zk.KindSet} {
		for _, applied := range []bool{false, true} {
			for others := range 3 {
				bubble(t, fmt.Sprint(kind, applied, others), func(t *testing.T, ens *zktest.Ensemble) {
					c, other := counterOn(ens.Dial(), recipes.Options{}), counterOn(ens.Dial(), recipes.Options{})
					if kind == zk.KindSet {
						_, err := other.Add(t.Context(), 1)
						ok(t, "Add()", err)
					}
					lost := false
					ens.Hook(func(op zktest.Op) zktest.Action {
						if op.Kind != kind || op.Applied != applied || lost {
							return zktest.Action{}
						}
						lost = true
						for range others { // before the client can look
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

// With so many additions in between that the tag can be gone, an addition is in doubt; and so it is when the client cannot look.
func TestAnAdditionThatNothingTellsOfIsInDoubt(t *testing.T) {
	for _, applied := range []bool{false, true} {
		bubble(t, fmt.Sprint("overwritten", applied), func(t *testing.T, ens *zktest.Ensemble) {
			c, other := counterOn(ens.Dial(), recipes.Options{}), counterOn(ens.Dial(), recipes.Options{})
			_, err := other.Add(t.Context(), 1)
			ok(t, "Add()", err)
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
		bubble(t, fmt.Sprint("cut off", applied), func(t *testing.T, ens *zktest.Ensemble) {
			s := ens.Dial()
			c := counterOn(s, recipes.Options{})
			_, err := c.Add(t.Context(), 1)
			ok(t, "Add()", err)
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
	bubble(t, "before it was sent", func(t *testing.T, ens *zktest.Ensemble) {
		ctx, cancel := context.WithCancel(t.Context())
		c := counterOn(ens.Dial(), at(recipes.PauseRead, cancel))
		if _, err := c.Add(ctx, 1); !errors.Is(err, context.Canceled) || errors.Is(err, recipes.ErrInDoubt) {
			t.Errorf("Add() = %v, want the context's error and no doubt", err)
		}
	})
}

func TestACounterThatIsNone(t *testing.T) {
	bubble(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		s := ens.Dial()
		c := counterOn(s, recipes.Options{})
		if n, err := c.Value(t.Context()); n != 0 || err != nil {
			t.Errorf("Value() of a missing counter = %d, %v, want 0", n, err)
		}
		_, err := s.Create(t.Context(), "/n", []byte("7"), zk.Persistent)
		ok(t, "Create()", err)
		if n, err := c.Add(t.Context(), 1); n.Value != 8 || err != nil {
			t.Errorf("Add() to a bare number = %+v, %v, want 8", n, err)
		}
		_, err = s.Set(t.Context(), "/n", []byte("seven"), zk.AnyVersion)
		ok(t, "Set()", err)
		if _, err := c.Add(t.Context(), 1); !errors.Is(err, recipes.ErrNoCounter) {
			t.Errorf("Add() to a word = %v, want ErrNoCounter", err)
		}
		ok(t, "Delete()", s.Delete(t.Context(), "/n", zk.AnyVersion))
		for range 2 { // missing, and then made anew by somebody
			if _, err := c.Add(t.Context(), 1); !errors.Is(err, recipes.ErrCounterLost) {
				t.Errorf("Add() to a counter that was deleted = %v, want ErrCounterLost", err)
			}
			_, err = counterOn(ens.Dial(), recipes.Options{}).Add(t.Context(), 1)
			ok(t, "Add() by another", err)
		}
	})
	bubble(t, "deleted between the read and the write", func(t *testing.T, ens *zktest.Ensemble) {
		s, other := ens.Dial(), ens.Dial()
		c := counterOn(s, at(recipes.PauseRead, func() { other.Delete(context.Background(), "/n", zk.AnyVersion) }))
		_, err := counterOn(other, recipes.Options{}).Add(t.Context(), 1)
		ok(t, "Add()", err)
		if _, err := c.Add(t.Context(), 1); !errors.Is(err, recipes.ErrCounterLost) {
			t.Errorf("Add() = %v, want ErrCounterLost", err)
		}
	})
}

// aged is a session to which versions of the counter seem greater, to come to the wrap without 2^31 writes.
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

// The version comes to -1, which in a write stands for any version: of two who have read that state one writes, and nothing is lost.
func TestACounterOverTheWrapOfItsVersion(t *testing.T) {
	bubble(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		other := counterOn(aged{ens.Dial(), -3}, recipes.Options{})
		busy := false
		c := counterOn(aged{ens.Dial(), -3}, every(recipes.PauseRead, func() { // the other one comes between each read and its write
			if busy = !busy; busy {
				if _, err := other.Add(t.Context(), 1); err != nil {
					t.Error(err)
				}
			}
		}))
		for range 4 {
			_, err := c.Add(t.Context(), 1)
			ok(t, "Add()", err)
		}
		turns := 0
		for path := range ens.Tree() {
			if strings.HasPrefix(path, "/n-wrap-") {
				turns++
			}
		}
		if got := value(t, ens); got != "8" || turns != 1 {
			t.Errorf("the counter holds %s after 8 additions, and %d znodes tell of the wrap; want 8 and 1", got, turns)
		}
	})
	bubble(t, "over the sign", func(t *testing.T, ens *zktest.Ensemble) {
		c := counterOn(aged{ens.Dial(), math.MaxInt32 - 1}, recipes.Options{})
		for i := range int64(4) {
			if n, err := c.Add(t.Context(), 1); n.Value != i+1 || err != nil {
				t.Errorf("Add() = %+v, %v, want %d", n, err, i+1)
			}
		}
	})
}

// A client that is refused as often as it bears goes on under the lock, and not before.
func TestAClientThatIsRefusedIsPromoted(t *testing.T) {
	for refusals := range 4 {
		bubble(t, fmt.Sprint(refusals), func(t *testing.T, ens *zktest.Ensemble) {
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
			ok(t, "Add()", err)
			o.PromoteAfter = 2
			n, err := recipes.Counters[1].New(ens.Dial(), "/n", o).Add(t.Context(), 1)
			if err != nil || n.Promoted != (refusals >= 2) || n.Attempts != refusals+1 || n.Value != int64(refusals+2) {
				t.Errorf("Add() after %d refusals = %+v, %v", refusals, n, err)
			}
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("the lock is left: %v", left)
			}
		})
	}
}

// A client that waits for the lock of the promoted leaves nothing behind when it gives up, and nothing is added.
func TestAPromotedClientThatGivesUp(t *testing.T) {
	bubble(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		other := counterOn(ens.Dial(), recipes.Options{})
		_, err := other.Add(t.Context(), 1)
		ok(t, "Add()", err)
		_, err = find(t, "predecessor").New(ens.Dial(), "/n-lock", recipes.Options{}).Acquire(t.Context())
		ok(t, "Acquire()", err)
		o := every(recipes.PauseRead, func() { other.Add(context.Background(), 1) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = recipes.Counters[1].New(ens.Dial(), "/n", o).Add(ctx, 1)
		synctest.Wait() // the place in the queue is removed in the background
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, recipes.ErrInDoubt) || value(t, ens) != "2" || len(ens.Ephemerals()) != 1 {
			t.Errorf("Add() = %v; the counter holds %s, znodes %v", err, value(t, ens), ens.Ephemerals())
		}
	})
}
