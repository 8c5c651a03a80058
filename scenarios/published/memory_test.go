package published_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/published"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// memory is an ensemble of servers in memory.
type memory struct{ *zktest.Ensemble }

func (m memory) Dial(context.Context) (zk.Session, error) { return m.Ensemble.Dial(), nil }

func (m memory) Expire(_ context.Context, s zk.Session) error {
	m.Ensemble.Expire(s)
	return nil
}

func (m memory) Cut(s zk.Session, kind zk.Kind, applied bool) (wasCut func(context.Context) bool) {
	done := false
	m.Hook(func(op zktest.Op) zktest.Action {
		if done || op.Session.ID() != s.ID() || op.Kind != kind || op.Applied != applied {
			return zktest.Action{}
		}
		done = true
		return zktest.Action{Lose: true}
	})
	return func(context.Context) bool { return done }
}

// Every expectation, and the control in each of its scenarios, in memory.
func TestScenariosInMemory(t *testing.T) {
	for _, v := range published.Variants() {
		t.Run(v, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ens := zktest.New(zktest.Config{OpLatency: time.Millisecond, Created: zkbenchs(t, "/s")})
				s := ens.Dial()
				if _, err := s.Create(t.Context(), "/s", nil, zk.Persistent); err != nil {
					t.Fatal(err)
				}
				found, err := published.Run(t.Context(), published.Config{Servers: memory{ens}, Dir: "/s", Config: scenarios.Config{Variants: []string{v}}})
				if err != nil {
					t.Fatal(err)
				}
				judge(t, found)
				s.Close()
				if left := ens.Sessions(); len(left) != 0 {
					t.Errorf("%d sessions are left", len(left))
				}
			})
		})
	}
}

// zkbenchs asserts that the znodes below a root have names by which zkbench's removal recognizes them.
func zkbenchs(t *testing.T, dir string) func(path string) {
	znodes := published.Znodes()
	names := root.NewNames(znodes.Persistent, znodes.Ephemeral)
	return func(path string) {
		rest, below := strings.CutPrefix(path, dir+"/")
		if below && !names.AllOurs(strings.Split(rest, "/")) {
			t.Errorf("%s is made, and Znodes do not declare it: its removal would take it for somebody else's", path)
		}
	}
}

func judge(t *testing.T, found []scenarios.Finding) {
	t.Helper()
	for _, f := range found {
		if f.Err != nil || f.Seen != f.Expect {
			t.Errorf("%s in %s: expected %q, seen %q, error %v: %s", f.Variant, f.Scenario, f.Expect, f.Seen, f.Err, f.Witness)
		}
		t.Logf("%s in %s: %q: %s", f.Variant, f.Scenario, f.Seen, f.Witness)
	}
}
