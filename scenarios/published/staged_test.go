package published_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/published"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// uncut never breaks a connection.
type uncut struct{ memory }

func (uncut) Cut(zk.Session, zk.Kind, bool) func(context.Context) bool {
	return func(context.Context) bool { return false }
}

// A situation that does not come about is an error: a lock that was never in danger has not passed.
func TestWhatIsNotStagedIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{OpLatency: time.Millisecond})
		s := ens.Dial()
		if _, err := s.Create(t.Context(), "/s", nil, zk.Persistent); err != nil {
			t.Fatal(err)
		}
		found, err := published.Run(t.Context(), published.Config{Servers: uncut{memory{ens}}, Dir: "/s", Config: scenarios.Config{Variants: published.Variants()}})
		if err != nil {
			t.Fatal(err)
		}
		cut := 0
		for _, f := range found {
			switch f.Scenario {
			case "lost-create-reply", "lost-create-given-up", "lost-delete", "lost-delete-reply":
				cut++
				if f.Err == nil {
					t.Errorf("%s in %s: seen %q, error %v, though no connection was cut", f.Variant, f.Scenario, f.Seen, f.Err)
				}
			}
		}
		if cut == 0 {
			t.Error("no scenario cuts a connection")
		}
		s.Close()
	})
}

// Some variant plays every scenario, and every expectation refers to a scenario.
func TestTheCatalogueIsWhole(t *testing.T) {
	played := map[string]int{}
	for _, e := range published.Expectations {
		played[e.Scenario]++
		if e.Variant == published.Control {
			t.Errorf("%s is the control, and has an expectation of %q in %s", e.Variant, e.Expect, e.Scenario)
		}
	}
	for _, s := range published.Scenarios {
		if played[s.Name] == 0 {
			t.Errorf("nobody plays %s", s.Name)
		}
		delete(played, s.Name)
	}
	for name := range played {
		t.Errorf("an expectation is about %s, which is no scenario", name)
	}
}
