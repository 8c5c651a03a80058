package recipes_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// items is the items in the directory.
func items(ens *zktest.Ensemble) (n int) {
	for path := range ens.Tree() {
		if strings.HasPrefix(path, dir+"/qn-") || strings.HasPrefix(path, dir+"/queue-") || strings.HasPrefix(path, dir+"/entries/") {
			n++
		}
	}
	return n
}

func fifo(o recipes.Options) queueKind { return queueKind{recipes.Queues[0], o} }

// The reply to a put is lost: at least once means that the item may be there twice, exactly once that it is not, also when a consumer
// has taken it before the producer looks.
func TestAPutWhoseReplyIsLost(t *testing.T) {
	for _, tt := range []struct {
		why     string
		exact   bool
		applied bool
		want    int
	}{
		{"at least once, carried out: twice", false, true, 2},
		{"at least once, not carried out", false, false, 1},
		{"exactly once, carried out", true, true, 1},
		{"exactly once, not carried out", true, false, 1},
	} {
		bubble(t, tt.why, func(t *testing.T, ens *zktest.Ensemble) {
			k := fifo(recipes.Options{Exact: tt.exact})
			consumer := k.on(ens.Dial(), dir)
			q := k.on(ens.Dial(), dir)
			ok(t, "Put()", second(q.Put(t.Context(), number(0))))
			taking(t, consumer).expect(t, "Take()", "0")
			kind := map[bool]zk.Kind{false: zk.KindCreate, true: zk.KindMulti}[tt.exact]
			lost, taken := false, 0
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind != kind || op.Applied != tt.applied || lost {
					return zktest.Action{}
				}
				lost = true
				if _, err := consumer.Remove(t.Context()); err == nil { // before the producer knows
					taken++
				}
				return zktest.Action{Lose: true}
			})
			_, err := q.Put(t.Context(), number(1))
			ok(t, "Put()", err)
			ens.Hook(nil)
			if n := items(ens) + taken; n != tt.want || !lost {
				t.Errorf("the item is there %d times, want %d", n, tt.want)
			}
			ok(t, "the next Put()", second(q.Put(t.Context(), number(2))))
		})
	}
}

func TestAPutThatIsCutOffIsInDoubt(t *testing.T) {
	for _, exact := range []bool{false, true} {
		for _, applied := range []bool{false, true} {
			bubble(t, "", func(t *testing.T, ens *zktest.Ensemble) {
				k := fifo(recipes.Options{Exact: exact})
				s := ens.Dial()
				q := k.on(s, dir)
				ok(t, "Put()", second(q.Put(t.Context(), number(0))))
				ens.Hook(func(op zktest.Op) zktest.Action {
					if op.Session == s && (op.Kind == zk.KindCreate || op.Kind == zk.KindMulti) && op.Applied == applied {
						ens.Expire(s)
					}
					return zktest.Action{}
				})
				_, err := q.Put(t.Context(), number(1))
				var doubt *recipes.InDoubtError
				if !errors.As(err, &doubt) || string(doubt.Item.Data) != "1" || !errors.Is(err, zk.ErrSessionExpired) {
					t.Errorf("Put() whose session ends under it = %v, want in doubt, with the item and the cause", err)
				}
				ens.Hook(nil)
				fresh := k.on(ens.Dial(), dir)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if _, err := fresh.Put(ctx, number(2)); !errors.Is(err, context.Canceled) || errors.Is(err, recipes.ErrInDoubt) {
					t.Errorf("Put() after the end of its context = %v, want the context's error and no doubt", err)
				}
			})
		}
	}
}

func TestATakeWhoseReplyIsLostIsInDoubtOrDone(t *testing.T) {
	for _, k := range []queueKind{fifo(recipes.Options{}), {recipes.PriorityQueues[0], recipes.Options{}}} {
		for _, applied := range []bool{false, true} {
			bubble(t, k.v.Name, func(t *testing.T, ens *zktest.Ensemble) {
				producer := k.on(ens.Dial(), dir)
				for i := range 3 {
					ok(t, "Put()", second(producer.Put(t.Context(), number(i))))
				}
				q := k.on(ens.Dial(), dir)
				lost := loseOnce(ens, zk.KindDelete, applied, func(string) bool { return true })
				it, err := q.Take(t.Context())
				ens.Hook(nil)
				var doubt *recipes.InDoubtError
				switch {
				case !*lost:
					t.Error("no reply was lost")
				case !applied:
					got(t, "Take() whose request was lost", it, err, "0")
				case !errors.As(err, &doubt) || string(doubt.Item.Data) != "0" || doubt.Item.Czxid == 0:
					t.Errorf("Take() whose reply was lost = %v, %v, want in doubt with item 0", it, err)
				}
				it, err = q.Take(t.Context())
				got(t, "the next Take()", it, err, "1")
			})
		}
	}
}

// A delete under way when the context ends is never tried again for nobody.
func TestATakeThatIsCutOffIsInDoubt(t *testing.T) {
	bubble(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		k := fifo(recipes.Options{})
		ok(t, "Put()", second(k.on(ens.Dial(), dir).Put(t.Context(), number(0))))
		ctx, cancel := context.WithCancel(t.Context())
		reply := make(chan struct{})
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindDelete && op.Applied {
				cancel()
				<-reply
			}
			return zktest.Action{}
		})
		_, err := k.on(ens.Dial(), dir).Take(ctx)
		if !errors.Is(err, recipes.ErrInDoubt) || !errors.Is(err, context.Canceled) {
			t.Errorf("Take() = %v, want in doubt and cancelled", err)
		}
		close(reply)
		synctest.Wait()
	})
}

// A name that was listed and is now another item's, because the directory was made anew, is not taken out of turn.
func TestANameOfAFormerDirectoryIsNotTaken(t *testing.T) {
	bubble(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		k := fifo(recipes.Options{List: recipes.ListCached})
		producer, q, admin := k.on(ens.Dial(), dir), k.on(ens.Dial(), dir), ens.Dial()
		put := func(from, to int) {
			for i := from; i < to; i++ {
				ok(t, "Put()", second(producer.Put(t.Context(), number(i))))
			}
		}
		put(0, 3)
		taking(t, q).expect(t, "Take()", "0") // the list of 1 and 2 is kept
		for _, name := range []string{"/qn-0000000001", "/qn-0000000002", ""} {
			ok(t, "Delete()", admin.Delete(t.Context(), dir+name, zk.AnyVersion))
		}
		put(10, 13)
		for _, want := range []string{"10", "11", "12"} {
			taking(t, q).expect(t, "Take()", want)
		}
	})
}

// Somebody writes into the head between its reading and its deletion: what is delivered is what was deleted.
func TestAnItemThatIsWrittenIntoIsReadAgain(t *testing.T) {
	for _, v := range []recipes.Variant[recipes.Queue]{recipes.Queues[0], recipes.PriorityQueues[0]} {
		bubble(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			k, admin, once := queueKind{v, recipes.Options{}}, ens.Dial(), false
			it, err := k.on(ens.Dial(), dir).Put(t.Context(), number(0))
			ok(t, "Put()", err)
			ok(t, "Put()", second(k.on(ens.Dial(), dir).Put(t.Context(), number(1))))
			k.o.Trace = &recipes.Trace{Pause: func(point string) {
				if point == recipes.PauseRead && !once {
					once = true
					ok(t, "Set()", second(admin.Set(t.Context(), it.Path, []byte("changed"), zk.AnyVersion)))
				}
			}}
			taking(t, k.on(ens.Dial(), dir)).expect(t, "Take()", "changed")
		})
	}
}

func TestEphemeralItemsGoWithTheirProducer(t *testing.T) {
	bubble(t, "", func(t *testing.T, ens *zktest.Ensemble) {
		k := fifo(recipes.Options{EphemeralItems: true})
		s := ens.Dial()
		ok(t, "Put()", second(k.on(s, dir).Put(t.Context(), number(0))))
		ens.Expire(s)
		if _, err := k.on(ens.Dial(), dir).Remove(t.Context()); !errors.Is(err, recipes.ErrEmpty) {
			t.Errorf("Remove() after the producer's end = %v, want that the item is lost", err)
		}
	})
}

func TestABoundedQueue(t *testing.T) {
	for _, v := range slices.Concat(recipes.Queues, recipes.PriorityQueues, recipes.DelayQueues) {
		bubble(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			k := queueKind{v, recipes.Options{MaxItems: 2}}
			q := k.on(ens.Dial(), dir)
			for i := range 2 {
				ok(t, "Offer()", second(q.Offer(t.Context(), number(i))))
			}
			if _, err := q.Offer(t.Context(), number(2)); !errors.Is(err, recipes.ErrFull) {
				t.Errorf("Offer() to a full queue = %v, want ErrFull", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := q.Put(ctx, number(2)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Put() into a full queue = %v, want its deadline", err)
			}
			if left := ens.Watches(); len(left) != 0 {
				t.Errorf("watches left: %v", left)
			}
			var waiting []*pending
			for i := range 3 {
				producer := k.on(ens.Dial(), dir)
				waiting = append(waiting, start(func() (recipes.Item, error) { return producer.Put(t.Context(), number(10+i)) }))
			}
			most := 0
			for range 5 {
				most = max(most, items(ens))
				ok(t, "Remove()", second(k.on(ens.Dial(), dir).Remove(t.Context())))
				waiting[0].waits() // lets them settle
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
