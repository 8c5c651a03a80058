package workloads

import (
	"maps"
	"testing"

	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	zkbarrier "github.com/zkbench/zkbench/recipes/barrier"
	zkcommit "github.com/zkbench/zkbench/recipes/commit"
	zkcounter "github.com/zkbench/zkbench/recipes/counter"
	zkelection "github.com/zkbench/zkbench/recipes/election"
	zklock "github.com/zkbench/zkbench/recipes/lock"
	zkqueue "github.com/zkbench/zkbench/recipes/queue"
	zksemaphore "github.com/zkbench/zkbench/recipes/semaphore"
)

// The minimum numbers of lists and reads for each success. Theory is never below them. For all other variants, runs in memory in cmd/zkbench/command
// report whether they keep what they claim.
func TestTheLeastThatASuccessCosts(t *testing.T) {
	want := map[string]Cost{
		"lock/single-node": {}, "lock/persistent": {}, // they list nothing
		"lock/naive": {Lists: 1, Reads: 1}, "lock/predecessor": {Lists: 1, Reads: 1}, "lock/reentrant": {Lists: 1, Reads: 1},
		"multi-lock/multi":      {Lists: 2, Reads: 2},
		"read-write/read-write": {Lists: 1, Reads: 1}, "read-write/revocable": {Lists: 1, Reads: 1}, "revocation/revocable": {Lists: 1, Reads: 2},
		"semaphore/lease": {Lists: 2, Reads: 2},
		"queue/fifo":      {Lists: 1, Reads: 2}, "queue/claim": {Lists: 2, Reads: 3}, "priority-queue/priority": {Lists: 1, Reads: 2}, "delay-queue/delay": {Lists: 1, Reads: 2},
		"election/predecessor": {Lists: 1, Reads: 2}, "election/naive": {Lists: 1, Reads: 2}, "election/selector": {Lists: 1, Reads: 2},
		"barrier/barrier":               {Writes: 1},
		"double-barrier/double-barrier": {Lists: 1, Reads: 2}, "double-barrier/double-barrier-all": {Lists: 1, Reads: 2},
		"rendezvous/rendezvous": {Lists: 1, Reads: 2},
		"counter/counter":       {Reads: 1}, "counter/counter-promoted": {Reads: 1}, "counter/id-version": {}, "counter/id-sequential": {}, "counter/id-czxid": {},
		"two-phase-commit/flat": {Lists: 1, Reads: 3}, "two-phase-commit/coordinator": {Lists: 1, Reads: 3},
	}
	got := map[string]Cost{}
	for _, k := range []Kind{Locks(zklock.Variants()), MultiLocks(zklock.MultiVariants()), RWLocks(zklock.RWVariants()), Revocables(zklock.RevocableVariants()),
		Semaphores(zksemaphore.Variants()), Queues(zkqueue.Variants()), PriorityQueues(zkqueue.PriorityVariants()), DelayQueues(zkqueue.DelayVariants()),
		Elections(zkelection.Variants()), Barriers(zkbarrier.Variants()), DoubleBarriers(zkbarrier.DoubleVariants()), Rendezvouses(zkbarrier.RendezvousVariants()),
		Counters(zkcounter.Variants(), zkcounter.IDVariants()), Commits(zkcommit.Variants())} {
		for _, v := range k.Variants {
			w, err := v.New(Load{Dir: "/cell", Sessions: 6, Values: profiles.Values{"objects": 2, "readers": 50, "permits": 2, "barriers": 10}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			name := k.Name + "/" + v.Name
			least := w.(Frugal).Least()
			got[name] = least
			costed, has := w.(Costed)
			for spent, n := range least {
				if theory, known := Cost(nil), false; has {
					theory = costed.Cost()
					if _, known = theory[spent]; known && theory[spent] < n {
						t.Errorf("%s: %v %s in theory, and never fewer than %v", name, theory[spent], spent, n)
					}
				}
			}
		}
	}
	for name, w := range want {
		if least, there := got[name]; !there || !maps.Equal(w, least) {
			t.Errorf("%s: at least %v, want %v (there is one: %v)", name, least, w, there)
		}
	}
}

// A list that serves many items, and a queue that is only filled, have no minimum.
func TestQueuesThatNeedNoList(t *testing.T) {
	for name, o := range map[string]recipes.Options{"cached": {List: recipes.ListCached}, "watched": {List: recipes.ListWatched}} {
		if got := NewQueue(zkqueue.Variants()[0], o, Load{Sessions: 2}).(Frugal).Least(); got[Lists] != 0 || got[Reads] != 1 {
			t.Errorf("%s: at least %v, want the item alone", name, got)
		}
	}
	if got := NewQueue(zkqueue.Variants()[0], recipes.Options{}, Load{Sessions: 2, Values: profiles.Values{"producers": 100}}).(Frugal).Least(); len(got) != 0 {
		t.Errorf("a queue that is only filled: at least %v", got)
	}
}
