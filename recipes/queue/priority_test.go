package queue_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// eachPriorityQueue runs a test for each way in which the priority queue lists.
func eachPriorityQueue(t *testing.T, test func(*testing.T, queueKind, *zktest.Ensemble)) {
	v := queue.PriorityVariants()[0]
	for _, list := range v.Lists {
		bubble.Run(t, list, func(t *testing.T, ens *zktest.Ensemble) { test(t, queueKind{v, recipes.Options{List: list}}, ens) })
	}
}

func ranked(priority int32, name string) recipes.Item {
	return recipes.Item{Data: []byte(name), Priority: priority}
}

func TestItemsComeByPriorityAndThenByAge(t *testing.T) {
	eachPriorityQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		r := rand.New(rand.NewPCG(1, 1))
		priorities := []int32{math.MinInt32, math.MaxInt32, -100, -99, -10, -9, -1, 0, 1, 9, 10, 99, 100, 0, 9, -9}
		for range 20 {
			priorities = append(priorities, int32(r.Uint32()))
		}
		producer, q := k.on(ens.Dial(), bubble.Dir), k.on(ens.Dial(), bubble.Dir)
		for i, p := range priorities {
			bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), ranked(p, fmt.Sprint(i)))))
		}
		var want []int
		for i := range priorities {
			want = append(want, i)
		}
		slices.SortStableFunc(want, func(a, b int) int { return int(max(min(int64(priorities[a])-int64(priorities[b]), 1), -1)) })
		for _, i := range want {
			it, err := q.Remove(t.Context())
			bubble.Got(t, "Remove()", it, err, fmt.Sprint(i))
			if it.Priority != priorities[i] {
				t.Errorf("item %d has priority %d, want %d", i, it.Priority, priorities[i])
			}
		}
	})
}

// A better item that is put while the consumer works on another one is the next.
func TestABetterItemIsNext(t *testing.T) {
	eachPriorityQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		producer, q := k.on(ens.Dial(), bubble.Dir), k.on(ens.Dial(), bubble.Dir)
		for i := range 3 {
			bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), ranked(5, fmt.Sprint(i)))))
		}
		taking(t, q).expect(t, "the first", "0")
		bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), ranked(-5, "better"))))
		taking(t, q).expect(t, "the next", "better")
		taking(t, q).expect(t, "and then", "1")
	})
}

// On a lagging server a plain list misses the better item; a list after a transaction shows it.
func TestALaggingServerHidesABetterItem(t *testing.T) {
	eachPriorityQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		s := ens.Dial()
		producer, q := k.on(ens.Dial(), bubble.Dir), k.on(s, bubble.Dir)
		bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), ranked(5, "worse"))))
		ens.Lag(s, zktest.UntilSync)
		bubble.OK(t, "Put()", bubble.Second(producer.Put(t.Context(), ranked(-5, "better"))))
		it, err := q.Remove(t.Context())
		want := map[string]string{recipes.ListSynced: "better"}[k.o.List]
		if want == "" {
			want = "worse"
		}
		bubble.Got(t, "Remove()", it, err, want)
	})
}

// Foreign children are ignored and reported.
func TestForeignChildrenAreIgnored(t *testing.T) {
	eachQueue(t, func(t *testing.T, k queueKind, ens *zktest.Ensemble) {
		bubble.OK(t, "Put()", bubble.Second(k.on(ens.Dial(), bubble.Dir).Put(t.Context(), bubble.Item(1))))
		items := bubble.Dir
		if k.v.Name == "claim" {
			items += "/entries"
		}
		for _, name := range []string{"config", "lock-0000000000", "qn-", "queue-0000000000", "entry-0000000000", "_c_x-qn-0000000000"} {
			bubble.OK(t, "Create()", bubble.Second(ens.Dial().Create(t.Context(), items+"/"+name, nil, zk.Persistent)))
		}
		foreign := map[string]bool{}
		k.o.Trace = &recipes.Trace{Foreign: func(name string) { foreign[name] = true }}
		q := k.on(ens.Dial(), bubble.Dir)
		for range 2 { // Element does not remove
			it, err := q.Element(t.Context())
			bubble.Got(t, "Element()", it, err, "1")
		}
		taking(t, q).expect(t, "Take()", "1")
		next := taking(t, q)
		if !next.waits() || len(foreign) != 6 {
			t.Errorf("the next Take() = %v, %v; %d foreign children, want 6", next.it, next.err, len(foreign))
		}
		bubble.OK(t, "Put()", bubble.Second(k.on(ens.Dial(), bubble.Dir).Put(t.Context(), bubble.Item(2))))
		next.expect(t, "the next Take()", "2")
	})
}
