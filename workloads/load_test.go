package workloads

import (
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// A custom recipe may have no theory: then there is none, and nothing panics. One that cannot make a handle is reported.
func TestARecipeWithoutATheory(t *testing.T) {
	bare := func(zk.Session, string, recipes.Options) recipes.Lock { return nil }
	l := Load{Dir: "/cell", Sessions: 4}
	for name, w := range map[string]Workload{
		"lock":           NewLock(recipes.Variant[recipes.Lock]{Name: "mine", New: bare}, recipes.Options{}, l),
		"read-write":     NewReadWrite(recipes.Variant[recipes.RWLock]{Name: "mine"}, recipes.Options{}, l),
		"semaphore":      NewSemaphore(recipes.Variant[recipes.Semaphore]{Name: "mine"}, recipes.Options{}, l),
		"election":       NewElection(recipes.Variant[recipes.Election]{Name: "mine"}, recipes.Options{}, l),
		"double-barrier": NewDoubleBarrier(recipes.Variant[recipes.DoubleBarrier]{Name: "mine"}, recipes.Options{}, l),
		"rendezvous":     NewRendezvous(recipes.Variant[recipes.Rendezvous]{Name: "mine"}, recipes.Options{}, l),
		"commit":         NewCommit(recipes.Variant[recipes.Commit]{Name: "mine"}, recipes.Options{}, l),
	} {
		if r, some := w.(Releasing); some {
			if release, arrival := r.Theory(); release != 0 || arrival != 0 {
				t.Errorf("%s: %v and %v events, want none", name, release, arrival)
			}
		}
		if c, some := w.(Costed); some {
			for spent, n := range c.Cost() {
				if n != 0 && (spent == Events || spent == Lists) {
					t.Errorf("%s: %v %s in theory", name, n, spent)
				}
			}
		}
	}
	kind := Locks([]recipes.Variant[recipes.Lock]{{Name: "whole", New: bare}, {Name: "hollow"}})
	whole, _ := kind.Find("whole")
	hollow, _ := kind.Find("hollow")
	if whole.Broken != "" || hollow.Broken == "" {
		t.Errorf("broken: %q, %q", whole.Broken, hollow.Broken)
	}
}
