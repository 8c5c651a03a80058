package published_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	known "github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/published"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// foreign returns a lock as a user may have it: under another name, and without points at which zkbench could pause it.
func foreign(v recipes.Variant[recipes.Lock]) recipes.Variant[recipes.Lock] {
	make := v.New
	v.Name = "foreign-" + v.Name
	v.New = func(s zk.Session, path string, o recipes.Options) recipes.Lock {
		o.Trace = nil
		return make(s, path, o)
	}
	return v
}

// playForeign plays the scenarios with one foreign lock, and returns its findings and those of the control.
func playForeign(t *testing.T, v recipes.Variant[recipes.Lock]) (own, control []scenarios.Finding) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{OpLatency: time.Millisecond})
		s := ens.Dial()
		if _, err := s.Create(t.Context(), "/s", nil, zk.Persistent); err != nil {
			t.Fatal(err)
		}
		found, err := published.Run(t.Context(), published.Config{Servers: memory{ens}, Dir: "/s", Own: []recipes.Variant[recipes.Lock]{v},
			Config: scenarios.Config{Variants: []string{v.Name}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.Variant == v.Name {
				own = append(own, f)
			} else {
				control = append(control, f)
			}
		}
		s.Close()
	})
	return own, control
}

// A sound foreign lock passes all scenarios of locks, each of which can be staged with it.
func TestAForeignLockIsPlayed(t *testing.T) {
	sound, _ := recipes.Find(lock.Variants(), published.Control)
	own, control := playForeign(t, foreign(sound))
	if len(own) < 20 || len(control) != len(own) {
		t.Errorf("%d trials of it and %d of the control", len(own), len(control))
	}
	judge(t, slices.Concat(own, control))
}

// hidden lists what cannot be determined from outside: a point between two requests that only one lock has, a name that is not a path, and a waiter that has
// never created a znode.
var hidden = []string{"middle-dies-seen", "two-names", "shared-session"}

// The defects of the published locks also show if the locks are foreign.
func TestTheFaultsOfForeignLocksShow(t *testing.T) {
	for _, v := range known.Locks() {
		t.Run(v.Name, func(t *testing.T) {
			own, _ := playForeign(t, foreign(v))
			shown := 0
			for _, e := range published.Expectations {
				if e.Variant != v.Name || e.Expect == published.None || slices.Contains(hidden, e.Scenario) {
					continue
				}
				i := slices.IndexFunc(own, func(f scenarios.Finding) bool { return f.Scenario == e.Scenario })
				if i < 0 || own[i].Seen == published.None || own[i].Err != nil {
					t.Errorf("%s does not show in %s: %+v", e.Expect, e.Scenario, own[max(i, 0)])
					continue
				}
				shown++
			}
			if shown == 0 {
				t.Error("nothing shows")
			}
		})
	}
}

// A lock whose waiters have no znodes of their own is judged by who holds it, and what cannot be done to it is reported.
func TestALockWithoutAQueueIsPlayed(t *testing.T) {
	single, _ := recipes.Find(lock.Variants(), "single-node")
	own, _ := playForeign(t, foreign(single))
	for _, f := range own {
		if f.Seen != published.None {
			t.Errorf("%s: %s, %s", f.Scenario, f.Seen, f.Witness)
		}
		if f.Err != nil {
			t.Logf("%s: %v", f.Scenario, f.Err)
		}
	}
}
