package bench

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestRunThatCannotBegin(t *testing.T) {
	for _, c := range []struct {
		name string
		rig  func(r *rig)
		want string
	}{
		{"the preflight finds something fatal", func(r *rig) {
			r.problems = []ensemble.Problem{{Fatal: true, What: "too few connections", Remedy: "raise maxClientCnxns"}}
		}, "too few connections: raise maxClientCnxns"},
		{"no session can be opened", func(r *rig) { r.refuse = func(int) error { return errRefused } }, "connection refused"},
		{"the root may not be made", func(r *rig) {
			r.ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindMulti && !op.Applied && op.Ops[0].Kind == zk.KindCreate {
					return zktest.Action{Err: zk.ErrNoAuth}
				}
				return zktest.Action{}
			})
		}, "not authorized"},
		{"servers that do not tell their limits grant a longer session timeout", func(r *rig) {
			r.grants = func(int) time.Duration { return 17 * time.Second }
		}, "the servers change a session timeout of 10s to 17s: set session_timeout: 17s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, latency)
				c.rig(r)
				doc, err := r.run()
				if doc != nil || err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("document %v, error %v; want none and %q", doc, err, c.want)
				}
				r.clean()
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency)
		r.config.Root = "/mine/data"
		s := r.ens.Dial()
		defer s.Close()
		for _, path := range []string{"/mine", "/mine/data", "/mine/data/precious"} {
			if _, err := s.Create(t.Context(), path, []byte("x"), zk.Persistent); err != nil {
				t.Fatal(err)
			}
		}
		if doc, err := r.run(); doc != nil || !errors.Is(err, root.ErrExists) {
			t.Errorf("document %v, error %v; want none and root.ErrExists", doc, err)
		}
		if n := len(r.ens.Tree()); n != 3 {
			t.Errorf("%d znodes, want the 3 that were there", n)
		}
	})
}

func TestRunThatFailsBeforeItsFirstCell(t *testing.T) {
	for _, c := range []struct {
		name string
		rig  func(r *rig)
		want string
	}{
		{"a session is refused", func(r *rig) {
			r.refuse = func(seat int) error {
				if seat == 2 {
					return errRefused
				}
				return nil
			}
		}, "predecessor with 4 sessions: open session 3 of 4: connection refused"},
		{"the set-up is refused", func(r *rig) {
			r.ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindCreate && strings.HasSuffix(op.Path, "/lock-0") && !op.Applied {
					return zktest.Action{Err: zk.ErrQuota}
				}
				return zktest.Action{}
			})
		}, "predecessor with 4 sessions: set up:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, latency)
				c.rig(r)
				doc, err := r.run()
				if doc == nil || err == nil {
					t.Fatalf("document %v, error %v", doc, err)
				}
				if !doc.Partial || doc.Exit.Code != 1 || !strings.HasPrefix(doc.Exit.Reason, c.want) || len(doc.Cells) != 0 {
					t.Errorf("partial %v, exit %+v, %d cells; want %q", doc.Partial, doc.Exit, len(doc.Cells), c.want)
				}
				r.clean()
			})
		})
	}
}

func TestSetUpSurvivesALostReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency)
		lost := false
		r.ens.Hook(func(op zktest.Op) zktest.Action {
			if !lost && op.Kind == zk.KindCreate && op.Applied && strings.HasSuffix(op.Path, "/lock-0") {
				lost = true
				return zktest.Action{Lose: true}
			}
			return zktest.Action{}
		})
		r.mustRun()
		if !lost {
			t.Error("no reply was lost")
		}
	})
}

// The administrative session expires during a long load: it is opened again, and marks the root as in use again.
func TestAdministrativeSessionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "variants: [predecessor, naive]")
		r.at(outcome.PhaseSteady, 2*time.Second, func() { r.ens.Expire(r.session(-1)) })
		r.mustRun()
		if n := len(r.sessions[-1]); n != 2 {
			t.Errorf("%d administrative sessions, want 2", n)
		}
	})
}

func TestResultThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "variants: [predecessor, naive]")
		r.at(outcome.PhaseSteady, 2*time.Second, func() { os.RemoveAll(r.config.Out.Path()) })
		doc, err := Run(t.Context(), r.config)
		if err == nil || doc == nil || len(doc.Cells) != 1 || doc.Exit.Code != 1 || !doc.Partial {
			t.Errorf("error %v, document %+v", err, doc)
		}
		r.clean()
	})
}

// The alive marker comes back by itself after the administrative session has expired, even if the session sends no requests.
func TestTheRootIsMarkedAliveAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "duration: 1m")
		alive := func() bool { return slices.Contains(r.ens.Ephemerals(), "/zkbench/test-1/"+root.AliveName) }
		r.at(outcome.PhaseSteady, 2*time.Second, func() {
			r.ens.Expire(r.session(-1))
			if alive() {
				t.Error("the session has not expired")
			}
		})
		looked := false
		expire := r.on
		r.on = func(u load.Update) {
			expire(u)
			if u.Phase == outcome.PhaseSteady && u.Elapsed >= 5*time.Second && !looked {
				looked = true
				if !alive() {
					t.Error("3 s after the session expired nothing marks the root as in use")
				}
			}
		}
		r.mustRun()
		if !looked {
			t.Error("nobody looked")
		}
	})
}
