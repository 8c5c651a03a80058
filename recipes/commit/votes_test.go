package commit

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// underway is a transaction of two sites in memory, the first of which waits for the vote of the second.
type underway struct {
	t             *testing.T
	ens           *zktest.Ensemble
	first, second *site
}

func begun(t *testing.T) *underway {
	ens := zktest.New(zktest.Config{})
	u := &underway{t: t, ens: ens}
	data := describe("guid", 2, time.Minute, nil)
	for i, c := range []**site{&u.first, &u.second} {
		*c = newSite(ens.Dial(), "/tx", recipes.Options{Members: 2, Site: i + 1, Alive: true})
		(*c).data = data
	}
	s := u.first.s
	if _, err := s.Multi(t.Context(), zk.CreateOp("/tx", data, zk.Persistent), zk.CreateOp("/tx/s_1", nil, zk.Persistent), zk.CreateOp("/tx/s_2", nil, zk.Persistent)); err != nil {
		t.Fatal(err)
	}
	return u
}

func (u *underway) end() {
	u.first.unwatch()
	u.first.s.Close()
	u.second.s.Close()
}

func (u *underway) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
}

// sets writes the znode of the second site's vote.
func (u *underway) sets(data []byte) {
	_, err := u.second.s.Set(u.t.Context(), "/tx/s_2", data, zk.AnyVersion)
	u.must(err)
}

// refuses lets the servers refuse the first site's reads without a watch.
func (u *underway) refuses() {
	u.ens.Hook(func(op zktest.Op) zktest.Action {
		if op.Session == u.first.s && op.Kind == zk.KindGet && !op.Watch {
			return zktest.Action{Err: zk.ErrNoAuth}
		}
		return zktest.Action{}
	})
}

func TestAwaitVote(t *testing.T) {
	for _, c := range []struct {
		sentence string
		alive    bool // the second site is alive from the start
		then     func(u *underway)
		commit   bool
		waits    bool // still waits after a while
		err      error
	}{
		{"it votes", true, func(u *underway) { u.sets(word(true)) }, true, false, nil},
		{"it votes to abort", true, func(u *underway) { u.sets(word(false)) }, false, false, nil},
		{"somebody else touches its znode", true, func(u *underway) { u.sets(nil) }, false, true, nil},
		{"and then it votes", true, func(u *underway) { u.sets(nil); time.Sleep(time.Second); u.sets(word(true)) }, true, false, nil},
		{"it dies without a vote", true, func(u *underway) { u.ens.Expire(u.second.s) }, false, false, nil},
		{"it votes, and dies", true, func(u *underway) { u.sets(word(true)); u.ens.Expire(u.second.s) }, true, false, nil},
		{"it comes to life", false, func(u *underway) { u.must(u.second.live(u.t.Context())) }, false, true, nil},
		{"it comes to life and votes", false, func(u *underway) { u.must(u.second.live(u.t.Context())); time.Sleep(time.Second); u.sets(word(true)) }, true, false, nil},
		{"it comes to life and dies", false, func(u *underway) {
			u.must(u.second.live(u.t.Context()))
			time.Sleep(time.Second)
			u.ens.Expire(u.second.s)
		}, false, false, nil},
		{"it dies and comes back", true, func(u *underway) {
			_, err := u.second.s.Multi(u.t.Context(), zk.DeleteOp("/tx/alive_2", zk.AnyVersion), zk.CreateOp("/tx/alive_2", nil, zk.Ephemeral))
			u.must(err)
		}, false, true, nil},
		{"the own session ends", true, func(u *underway) { u.ens.Expire(u.first.s) }, false, false, zk.ErrSessionExpired},
		{"it votes, and the vote cannot be read", true, func(u *underway) { u.refuses(); u.sets(word(true)) }, false, false, zk.ErrNoAuth},
		{"it dies, and its vote cannot be read", true, func(u *underway) { u.refuses(); u.ens.Expire(u.second.s) }, false, false, zk.ErrNoAuth},
	} {
		synctest.Test(t, func(t *testing.T) {
			u := begun(t)
			defer u.end()
			if c.alive {
				u.must(u.second.live(t.Context()))
			}
			u.must(u.first.watchVotes(t.Context(), false))
			var commit bool
			var err error
			done := make(chan struct{})
			go func() {
				defer close(done)
				commit, err = u.first.awaitVote(t.Context(), u.first.polls[0])
			}()
			synctest.Wait()
			c.then(u)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			select {
			case <-done:
				if c.waits || commit != c.commit || !errors.Is(err, c.err) {
					t.Errorf("%s: commit %v, %v; want %v, %v, still waiting: %v", c.sentence, commit, err, c.commit, c.err, c.waits)
				}
			default:
				if !c.waits {
					t.Errorf("%s: still waiting", c.sentence)
				}
				u.ens.Expire(u.first.s)
				<-done
			}
		})
	}
}

// The last site that finishes removes the transaction, with everything in it.
func TestTheLastToFinishRemovesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := begun(t)
		defer u.end()
		for i, c := range []*site{u.first, u.second} {
			u.must(c.live(t.Context()))
			u.must(c.watchVotes(t.Context(), false))
			if i == 0 {
				continue
			}
			u.first.data = nil // as of a site that has not learnt the transaction
			for _, c := range []*site{u.first, u.second} {
				data, _, err := u.first.s.Get(t.Context(), "/tx")
				if err != nil || string(data) != string(u.second.data) {
					t.Errorf("before the last site has finished the transaction is %q, %v", data, err)
				}
				u.must(c.Finish(t.Context()))
			}
		}
		if tree := u.ens.Tree(); len(tree) > 0 {
			t.Errorf("left: %v", tree)
		}
		if n := len(u.ens.Watches()); n > 0 {
			t.Errorf("%d watches are left armed", n)
		}
	})
}

// A session that gives up leaves no watches.
func TestUnwatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := begun(t)
		defer u.end()
		u.must(u.second.live(t.Context()))
		u.must(u.first.watchVotes(t.Context(), true)) // two votes and two alive znodes
		if n := len(u.ens.Watches()); n != 4 {
			t.Errorf("%d watches are armed, want 4", n)
		}
		u.first.unwatch()
		synctest.Wait()
		if n := len(u.ens.Watches()); n > 0 {
			t.Errorf("%d watches are left armed", n)
		}
	})
}
