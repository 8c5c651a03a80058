package lock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// once calls do right before the session's first operation of that kind is applied.
func once(ens *zktest.Ensemble, s *zktest.Session, kind zk.Kind, do func() zktest.Action) (done *bool) {
	done = new(bool)
	ens.Hook(func(op zktest.Op) zktest.Action {
		if op.Session != s || op.Kind != kind || op.Applied || *done {
			return zktest.Action{}
		}
		*done = true
		return do()
	})
	return done
}

// What can happen when a downgrade deletes the write znode. The read grant stands even if the context ends, but not if the write grant was lost
// before.
func TestWhatEndsADowngrade(t *testing.T) {
	for _, c := range []struct {
		sentence string
		meets    func(t *testing.T, ens *zktest.Ensemble, s, other *zktest.Session, written string, end func()) zktest.Action
		err      error
	}{
		{"nothing", func(*testing.T, *zktest.Ensemble, *zktest.Session, *zktest.Session, string, func()) zktest.Action {
			return zktest.Action{}
		}, nil},
		{"the context ends", func(_ *testing.T, _ *zktest.Ensemble, _, _ *zktest.Session, _ string, end func()) zktest.Action {
			end()
			time.Sleep(time.Millisecond) // lets the call return
			return zktest.Action{}
		}, nil},
		{"the session ends", func(_ *testing.T, ens *zktest.Ensemble, s, _ *zktest.Session, _ string, _ func()) zktest.Action {
			ens.Expire(s)
			return zktest.Action{}
		}, zk.ErrSessionExpired},
		{"the write znode is gone already", func(t *testing.T, _ *zktest.Ensemble, _, other *zktest.Session, written string, _ func()) zktest.Action {
			if err := other.Delete(t.Context(), written, zk.AnyVersion); err != nil {
				t.Error(err)
			}
			return zktest.Action{}
		}, zk.ErrNoNode},
		{"the delete is refused", func(*testing.T, *zktest.Ensemble, *zktest.Session, *zktest.Session, string, func()) zktest.Action {
			return zktest.Action{Err: zk.ErrNoAuth}
		}, zk.ErrNoAuth},
	} {
		synctest.Test(t, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			s, other := ens.Dial(), ens.Dial()
			defer s.Close()
			defer other.Close()
			ctx, end := context.WithCancel(t.Context())
			defer end()
			l := newReadWrite(s, "/l", recipes.Options{}, sharedTurn(false))
			written, err := l.AcquireWrite(ctx)
			if err != nil {
				t.Fatal(err)
			}
			met := once(ens, s, zk.KindDelete, func() zktest.Action { return c.meets(t, ens, s, other, written.Path, end) })
			read, err := l.Downgrade(ctx)
			time.Sleep(time.Second) // lets background work finish
			synctest.Wait()
			znodes := ens.Ephemerals()
			switch {
			case !*met:
				t.Errorf("%s: nothing was deleted", c.sentence)
			case c.err != nil && (!errors.Is(err, recipes.ErrLockLost) || !errors.Is(err, c.err)):
				t.Errorf("%s: Downgrade() = %v, want ErrLockLost: %v", c.sentence, err, c.err)
			case c.err != nil:
				if err := l.Release(t.Context()); !errors.Is(err, recipes.ErrNotHeld) {
					t.Errorf("%s: Release() = %v, want ErrNotHeld", c.sentence, err)
				}
			case err != nil || len(znodes) != 1 || znodes[0] != read.Path || read.Path == written.Path || read.Token != written.Token:
				t.Errorf("%s: Downgrade() = %+v, %v, and %v exist; want only the read grant", c.sentence, read, err, znodes)
			default:
				if err := l.Release(t.Context()); err != nil {
					t.Errorf("%s: Release() = %v", c.sentence, err)
				}
			}
		})
	}
}

// If the holder does not consent in time, a forced revocation deletes its znode. A znode that is already gone counts as deleted; a refusal is
// returned.
func TestWhatEndsAForcedRevocation(t *testing.T) {
	for _, c := range []struct {
		sentence string
		meets    func(t *testing.T, holder *zktest.Session, path string) zktest.Action
		left     int
		err      error
	}{
		{"nothing", func(*testing.T, *zktest.Session, string) zktest.Action { return zktest.Action{} }, 0, nil},
		{"the holder releases right before", func(t *testing.T, holder *zktest.Session, path string) zktest.Action {
			if err := holder.Delete(t.Context(), path, zk.AnyVersion); err != nil {
				t.Error(err)
			}
			return zktest.Action{}
		}, 0, nil},
		{"the delete is refused", func(*testing.T, *zktest.Session, string) zktest.Action { return zktest.Action{Err: zk.ErrNoAuth} }, 1, zk.ErrNoAuth},
	} {
		synctest.Test(t, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			s, holder := ens.Dial(), ens.Dial()
			defer s.Close()
			defer holder.Close()
			g, err := newRevocable(holder, "/l", recipes.Options{}).AcquireWrite(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			met := once(ens, s, zk.KindDelete, func() zktest.Action { return c.meets(t, holder, g.Path) })
			start := time.Now()
			token, err := newRevocable(s, "/l", recipes.Options{Force: time.Second}).Revoke(t.Context(), g.Path)
			if token != g.Token || !errors.Is(err, c.err) || time.Since(start) != time.Second || !*met || len(ens.Ephemerals()) != c.left {
				t.Errorf("%s: Revoke() = %d, %v after %v, and %v are left; want %d, %v after a second", c.sentence, token, err, time.Since(start),
					ens.Ephemerals(), g.Token, c.err)
			}
		})
	}
}

// The lease ends while a create is in flight. If the znode still exists, the grant is given under the session's new lease; otherwise there is none.
func TestAGrantThatComesTooLateForItsLease(t *testing.T) {
	for deleted, want := range map[bool]error{false: nil, true: zk.ErrNoNode} {
		synctest.Test(t, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			s, other := ens.Dial(), ens.Dial()
			defer s.Close()
			defer other.Close()
			cut, read := false, false
			ens.Hook(func(op zktest.Op) zktest.Action {
				switch {
				case op.Session != s || !op.Applied:
				case op.Kind == zk.KindCreate && op.Path == "/l/lock" && op.Err == nil && !cut:
					cut = true
					ens.Disconnect(s)
					time.AfterFunc(s.Timeout()*19/20, func() { ens.Reconnect(s) })
				case op.Kind == zk.KindGet && deleted && !read:
					read = true
					if err := other.Delete(t.Context(), op.Path, zk.AnyVersion); err != nil {
						t.Error(err)
					}
				}
				return zktest.Action{}
			})
			l := &singleNode{s: s, dir: "/l"}
			g, err := l.Acquire(t.Context())
			if !errors.Is(err, want) || !cut {
				t.Errorf("deleted %v: Acquire() = %+v, %v, want %v", deleted, g, err, want)
			}
			if want != nil {
				return
			}
			select {
			case <-g.Lost:
				t.Error("the grant is lost from the start")
			default:
			}
			if err := l.Release(t.Context()); err != nil {
				t.Errorf("Release() = %v", err)
			}
		})
	}
}
