package bench

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/bench/target"
	defects "github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/zk"
)

// differing has three servers, the third of which has lost the ephemeral znodes.
type differing struct{ *three }

func (differing) Addresses() []string { return []string{"memory:1", "memory:2", "memory:3"} }

// forgetful is a session with a server that has lost the ephemeral znodes.
type forgetful struct{ zk.Session }

func (f forgetful) Exists(ctx context.Context, path string) (zk.Stat, bool, error) {
	st, there, err := f.Session.Exists(ctx, path)
	return st, there && st.EphemeralOwner == 0, err
}

// rolledBack is a session with servers that have all lost the same znodes, after some writes of the marker.
type rolledBack struct {
	zk.Session
	writes *int32
}

func (r rolledBack) Set(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error) {
	st, err := r.Session.Set(ctx, path, data, version)
	if err == nil && strings.HasSuffix(path, root.MarkerName) {
		if *r.writes++; *r.writes > 5 {
			st.Version -= 3
		}
	}
	return st, err
}

// A stall or a leak on servers that disagree is not blamed on the recipe; servers that agree excuse nothing.
func TestServersThatDisagree(t *testing.T) {
	const kill = "{at: 3s, kind: kill, server: 1, for: 2s}"
	for _, c := range []struct {
		name, variant, faults string
		lost                  string // which servers have lost the znodes
		exit                  string
	}{
		{"they agree", "broken-forgets-delete", kill, "", "liveness of broken-forgets-delete"},
		{"one lacks what is left", "broken-forgets-delete", kill, "the third", "violated: servers-agree of broken-forgets-delete"},
		{"all lack the same", "broken-forgets-delete", kill, "all", "violated: servers-agree of broken-forgets-delete"},
		{"nothing happened to them", "broken-forgets-delete", "", "the third", "liveness of broken-forgets-delete"},
	} {
		synctest.Test(t, func(t *testing.T) {
			th := newThree(t, "variants: ["+c.variant+"]", "duration: 20s", "drain: 20s", faultsOf(c.faults))
			th.withLocks(defects.Locks)
			th.config.Ensemble = differing{th}
			writes := new(int32)
			open := th.config.Engines[0].Open
			th.config.Engines[0].Open = func(ctx context.Context, d target.Dialing) (zk.Session, error) {
				s, err := open(ctx, d)
				switch {
				case err != nil:
				case c.lost == "all":
					s = rolledBack{s, writes}
				case c.lost != "" && len(d.Servers) == 1 && d.Servers[0] == "memory:3":
					s = forgetful{s}
				}
				return s, err
			}
			doc, err := th.run()
			if err != nil {
				t.Fatal(err)
			}
			wantExit(t, doc, 4, c.exit)
			excused := strings.Contains(c.exit, "servers-agree")
			for _, k := range doc.Cells[0].Checks {
				if k.Name != "servers-agree" && excused && k.Verdict == "violated" || k.Name == "servers-agree" != (k.Verdict == "violated") && excused {
					t.Errorf("%s: %s is %s: %s", c.name, k.Name, k.Verdict, k.Detail)
				}
			}
			if k := checkOf(t, doc.Cells[0], "liveness"); excused && (k.Verdict != "unknown" || !strings.Contains(k.Detail, "memory:3 lacks") && !strings.Contains(k.Detail, "have lost 3 of")) {
				t.Errorf("%s: liveness is %s: %s", c.name, k.Verdict, k.Detail)
			}
		})
	}
}
