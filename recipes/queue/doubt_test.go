package queue_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// When the reply to a claim's delete is lost, the delete must not be repeated by name: the claim may be another consumer's by then.
func TestAClaimIsNotTakenFromTheNextConsumer(t *testing.T) {
	failure := errors.New("the read fails")
	for what, giveBack := range map[string]func(t *testing.T, ens *zktest.Ensemble, s *zktest.Session, stage func()){
		"a release": func(t *testing.T, ens *zktest.Ensemble, s *zktest.Session, stage func()) {
			c := claim(t, claimer(s, recipes.Options{})).expect(t, "Claim()", "0")
			stage()
			bubble.OK(t, "Release()", c.release(t))
		},
		"a claim whose item cannot be read": func(t *testing.T, ens *zktest.Ensemble, s *zktest.Session, stage func()) {
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Session == s && op.Kind == zk.KindGet {
					stage()
					return zktest.Action{Err: failure}
				}
				return zktest.Action{}
			})
			if _, err := claimer(s, recipes.Options{}).Claim(t.Context()); !errors.Is(err, failure) {
				t.Errorf("Claim() = %v, want the failure", err)
			}
		},
		"a cancelled claim": func(t *testing.T, ens *zktest.Ensemble, s *zktest.Session, stage func()) {
			ctx, cancel := context.WithCancel(t.Context())
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Session == s && op.Kind == zk.KindCreate && op.Applied && op.Err == nil && bubble.Below(op.Path, bubble.Dir+"/taken/") {
					stage()
					cancel()
				}
				return zktest.Action{}
			})
			if _, err := claimer(s, recipes.Options{}).Claim(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Claim() = %v, want the context's end", err)
			}
		},
		"a cancelled finish": func(t *testing.T, ens *zktest.Ensemble, s *zktest.Session, stage func()) {
			c := claim(t, claimer(s, recipes.Options{})).expect(t, "Claim()", "0")
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			stage()
			if err := c.q.Finish(ctx, c.Claim); !errors.Is(err, context.Canceled) {
				t.Errorf("Finish() = %v, want the context's end", err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			inClaims(t, 1, func(t *testing.T, ens *zktest.Ensemble) {
				s, next := ens.Dial(), claimer(ens.Dial(), recipes.Options{})
				var theirs recipes.Claim
				var happened *bool
				giveBack(t, ens, s, func() {
					happened = bubble.AfterDelete(ens, s, bubble.Dir+"/taken/", func() {
						var err error
						theirs, err = next.Claim(t.Context())
						bubble.OK(t, "Claim() of the next consumer", err)
					})
				})
				time.Sleep(10 * time.Second)
				synctest.Wait()
				ens.Hook(nil)
				if z, there := ens.Tree()[theirs.Znode]; !*happened || !there || z.Stat.Czxid != theirs.Token {
					t.Fatalf("the next consumer's claim is gone (%v)", *happened)
				}
				if third := claim(t, claimer(ens.Dial(), recipes.Options{})); !third.waits() {
					t.Error("two consumers have claimed one item")
				}
				bubble.OK(t, "Finish()", next.Finish(t.Context(), theirs))
			})
		})
	}
}

// An exact put that is cancelled while it creates its marker leaves none.
func TestACancelledPutLeavesNoMarker(t *testing.T) {
	bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		s := ens.Dial()
		q := fifo(recipes.Options{Exact: true}).on(s, bubble.Dir)
		bubble.OK(t, "makeDirs", bubble.Second(ens.Dial().Create(t.Context(), "/locks", nil, zk.Persistent)))
		bubble.OK(t, "makeDirs", bubble.Second(ens.Dial().Create(t.Context(), bubble.Dir+"-producers", nil, zk.Persistent)))
		happened := bubble.LoseOnce(ens, zk.KindCreate, true, func(path string) bool { return bubble.Below(path, bubble.Dir+"-producers/") })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond) // ends in the pause before the second attempt
		defer cancel()
		if _, err := q.Put(ctx, bubble.Item(0)); !errors.Is(err, context.DeadlineExceeded) || !*happened {
			t.Fatalf("Put() = %v, want the context's end", err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if left := ens.Ephemerals(); len(left) != 0 {
			t.Errorf("left while the session is open: %v", left)
		}
	})
}

// An item whose removal is in doubt, but was not applied, is still the first.
func TestAnItemInDoubtIsNotSkipped(t *testing.T) {
	for _, k := range []queueKind{
		fifo(recipes.Options{}), fifo(recipes.Options{List: recipes.ListCached}),
		{queue.PriorityVariants()[0], recipes.Options{List: recipes.ListWatched}},
	} {
		bubble.Run(t, k.v.Name+" "+k.o.List, func(t *testing.T, ens *zktest.Ensemble) {
			s := ens.Dial()
			for i := range 3 {
				bubble.OK(t, "Put()", bubble.Second(k.on(ens.Dial(), bubble.Dir).Put(t.Context(), bubble.Item(i))))
			}
			q := k.on(s, bubble.Dir)
			ctx, cancel := context.WithCancel(t.Context())
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindDelete && ctx.Err() == nil {
					cancel()
					time.Sleep(time.Millisecond) // lets the call return
					return zktest.Action{Lose: true}
				}
				return zktest.Action{}
			})
			if _, err := q.Take(ctx); !errors.Is(err, recipes.ErrInDoubt) {
				t.Errorf("Take() = %v, want in doubt", err)
			}
			ens.Hook(nil)
			time.Sleep(time.Second)
			for _, want := range []string{"0", "1", "2"} {
				taking(t, q).expect(t, "Take()", want)
			}
		})
	}
}

// items counts the items of the queue.
func items(ens *zktest.Ensemble) (n int) {
	for path := range ens.Tree() {
		if strings.HasPrefix(path, bubble.Dir+"/qn-") || strings.HasPrefix(path, bubble.Dir+"/queue-") || strings.HasPrefix(path, bubble.Dir+"/entries/") {
			n++
		}
	}
	return n
}

func fifo(o recipes.Options) queueKind { return queueKind{queue.Variants()[0], o} }

// After a lost reply an item may be put twice, but not by an exact put, even if a consumer has taken it before the producer checks.
func TestAPutWithALostReply(t *testing.T) {
	for _, tt := range []struct {
		why     string
		exact   bool
		applied bool
		want    int
	}{
		{"at least once, applied: twice", false, true, 2},
		{"at least once, not applied", false, false, 1},
		{"exactly once, applied", true, true, 1},
		{"exactly once, not applied", true, false, 1},
	} {
		bubble.Run(t, tt.why, func(t *testing.T, ens *zktest.Ensemble) {
			k := fifo(recipes.Options{Exact: tt.exact})
			consumer := k.on(ens.Dial(), bubble.Dir)
			q := k.on(ens.Dial(), bubble.Dir)
			bubble.OK(t, "Put()", bubble.Second(q.Put(t.Context(), bubble.Item(0))))
			taking(t, consumer).expect(t, "Take()", "0")
			kind := map[bool]zk.Kind{false: zk.KindCreate, true: zk.KindMulti}[tt.exact]
			lost, taken := false, 0
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind != kind || op.Applied != tt.applied || lost {
					return zktest.Action{}
				}
				lost = true
				if _, err := consumer.Remove(t.Context()); err == nil { // before the producer can check
					taken++
				}
				return zktest.Action{Lose: true}
			})
			_, err := q.Put(t.Context(), bubble.Item(1))
			bubble.OK(t, "Put()", err)
			ens.Hook(nil)
			if n := items(ens) + taken; n != tt.want || !lost {
				t.Errorf("the item was put %d times, want %d", n, tt.want)
			}
			bubble.OK(t, "the next Put()", bubble.Second(q.Put(t.Context(), bubble.Item(2))))
		})
	}
}

func TestAnInterruptedPutIsInDoubt(t *testing.T) {
	for _, exact := range []bool{false, true} {
		for _, applied := range []bool{false, true} {
			bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
				k := fifo(recipes.Options{Exact: exact})
				s := ens.Dial()
				q := k.on(s, bubble.Dir)
				bubble.OK(t, "Put()", bubble.Second(q.Put(t.Context(), bubble.Item(0))))
				ens.Hook(func(op zktest.Op) zktest.Action {
					if op.Session == s && (op.Kind == zk.KindCreate || op.Kind == zk.KindMulti) && op.Applied == applied {
						ens.Expire(s)
					}
					return zktest.Action{}
				})
				_, err := q.Put(t.Context(), bubble.Item(1))
				var doubt *recipes.InDoubtError
				if !errors.As(err, &doubt) || string(doubt.Item.Data) != "1" || !errors.Is(err, zk.ErrSessionExpired) {
					t.Errorf("Put() whose session ends = %v, want in doubt, with the item and the cause", err)
				}
				ens.Hook(nil)
				fresh := k.on(ens.Dial(), bubble.Dir)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := fresh.Put(ctx, bubble.Item(2)); !errors.Is(err, context.Canceled) || errors.Is(err, recipes.ErrInDoubt) {
					t.Errorf("Put() after the end of its context = %v, want the context's error and no doubt", err)
				}
			})
		}
	}
}

func TestATakeWithALostReply(t *testing.T) {
	for _, k := range []queueKind{fifo(recipes.Options{}), {queue.PriorityVariants()[0], recipes.Options{}}} {
		for _, applied := range []bool{false, true} {
			bubble.Run(t, k.v.Name, func(t *testing.T, ens *zktest.Ensemble) {
				producer := k.on(ens.Dial(), bubble.Dir)
				for i := range 3 {
					bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), bubble.Item(i))))
				}
				q := k.on(ens.Dial(), bubble.Dir)
				lost := bubble.LoseOnce(ens, zk.KindDelete, applied, func(string) bool { return true })
				it, err := q.Take(t.Context())
				ens.Hook(nil)
				var doubt *recipes.InDoubtError
				switch {
				case !*lost:
					t.Error("no reply was lost")
				case !applied:
					bubble.Got(t, "Take() whose request was lost", it, err, "0")
				case !errors.As(err, &doubt) || string(doubt.Item.Data) != "0" || doubt.Item.Czxid == 0:
					t.Errorf("Take() whose reply was lost = %v, %v, want in doubt with item 0", it, err)
				}
				it, err = q.Take(t.Context())
				bubble.Got(t, "the next Take()", it, err, "1")
			})
		}
	}
}

// A delete in flight when the context ends is not repeated: nobody would get the item.
func TestACancelledTakeIsInDoubt(t *testing.T) {
	bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		k := fifo(recipes.Options{})
		bubble.OK(t, "Put()", bubble.Second(k.on(ens.Dial(), bubble.Dir).Put(t.Context(), bubble.Item(0))))
		ctx, cancel := context.WithCancel(t.Context())
		reply := make(chan struct{})
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindDelete && op.Applied {
				cancel()
				<-reply
			}
			return zktest.Action{}
		})
		_, err := k.on(ens.Dial(), bubble.Dir).Take(ctx)
		if !errors.Is(err, recipes.ErrInDoubt) || !errors.Is(err, context.Canceled) {
			t.Errorf("Take() = %v, want in doubt and cancelled", err)
		}
		close(reply)
		synctest.Wait()
	})
}

// After the directory was recreated, a name listed before may belong to another item, which must not be taken out of order.
func TestNamesOfAFormerDirectoryAreNotTaken(t *testing.T) {
	bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		k := fifo(recipes.Options{List: recipes.ListCached})
		producer, q, admin := k.on(ens.Dial(), bubble.Dir), k.on(ens.Dial(), bubble.Dir), ens.Dial()
		put := func(from, to int) {
			for i := from; i < to; i++ {
				bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), bubble.Item(i))))
			}
		}
		put(0, 3)
		taking(t, q).expect(t, "Take()", "0") // caches the list with 1 and 2
		for _, name := range []string{"/qn-0000000001", "/qn-0000000002", ""} {
			bubble.OK(t, "Delete()", admin.Delete(t.Context(), bubble.Dir+name, zk.AnyVersion))
		}
		put(10, 13)
		for _, want := range []string{"10", "11", "12"} {
			taking(t, q).expect(t, "Take()", want)
		}
	})
}

// If somebody changes the first item between its read and its delete, the data delivered must be the data deleted.
func TestAnItemThatChangesIsReadAgain(t *testing.T) {
	for _, v := range []recipes.Variant[recipes.Queue]{queue.Variants()[0], queue.PriorityVariants()[0]} {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			k, admin, once := queueKind{v, recipes.Options{}}, ens.Dial(), false
			it, err := k.on(ens.Dial(), bubble.Dir).Put(t.Context(), bubble.Item(0))
			bubble.OK(t, "Put()", err)
			bubble.OK(t, "Put()", bubble.Second(k.on(ens.Dial(), bubble.Dir).Put(t.Context(), bubble.Item(1))))
			k.o.Trace = &recipes.Trace{Pause: func(point string) {
				if point == recipes.PauseRead && !once {
					once = true
					bubble.OK(t, "Set()", bubble.Second(admin.Set(t.Context(), it.Path, []byte("changed"), zk.AnyVersion)))
				}
			}}
			taking(t, k.on(ens.Dial(), bubble.Dir)).expect(t, "Take()", "changed")
		})
	}
}

func TestEphemeralItemsGoWithTheirProducer(t *testing.T) {
	bubble.Run(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		k := fifo(recipes.Options{EphemeralItems: true})
		s := ens.Dial()
		bubble.OK(t, "Put()", bubble.Second(k.on(s, bubble.Dir).Put(t.Context(), bubble.Item(0))))
		ens.Expire(s)
		if _, err := k.on(ens.Dial(), bubble.Dir).Remove(t.Context()); !errors.Is(err, recipes.ErrEmpty) {
			t.Errorf("Remove() after the producer's session expired = %v, want ErrEmpty", err)
		}
	})
}

func TestABoundedQueue(t *testing.T) {
	for _, v := range slices.Concat(queue.Variants(), queue.PriorityVariants(), queue.DelayVariants()) {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			k := queueKind{v, recipes.Options{MaxItems: 2}}
			q := k.on(ens.Dial(), bubble.Dir)
			for i := range 2 {
				bubble.OK(t, "Offer()", bubble.Second(q.Offer(t.Context(), bubble.Item(i))))
			}
			if _, err := q.Offer(t.Context(), bubble.Item(2)); !errors.Is(err, recipes.ErrFull) {
				t.Errorf("Offer() to a full queue = %v, want ErrFull", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := q.Put(ctx, bubble.Item(2)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Put() into a full queue = %v, want its deadline", err)
			}
			if left := ens.Watches(); len(left) != 0 {
				t.Errorf("watches left: %v", left)
			}
			var waiting []*pending
			for i := range 3 {
				producer := k.on(ens.Dial(), bubble.Dir)
				waiting = append(waiting, start(func() (recipes.Item, error) { return producer.Put(t.Context(), bubble.Item(10+i)) }))
			}
			most := 0
			for range 5 {
				most = max(most, items(ens))
				bubble.OK(t, "Remove()", bubble.Second(k.on(ens.Dial(), bubble.Dir).Remove(t.Context())))
				waiting[0].waits() // lets all producers run until they block
			}
			for i, p := range waiting {
				if p.waits() || p.err != nil {
					t.Errorf("producer %d still waits, or failed: %v", i, p.err)
				}
			}
			if most > 2+len(waiting)-1 {
				t.Errorf("%d items, want at most the bound and one for each other producer", most)
			}
		})
	}
}
