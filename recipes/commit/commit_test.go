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

func TestParseTransaction(t *testing.T) {
	members, deadline, payload, err := parseTransaction(describe("guid", 3, 2*time.Second, []byte("two words")))
	if members != 3 || deadline != 2*time.Second || string(payload) != "two words" || err != nil {
		t.Errorf("parseTransaction() = %d, %v, %q, %v, want 3, 2s and both words", members, deadline, payload, err)
	}
	for data, fine := range map[string]bool{
		"guid 1 0 ": true, "guid 1 1 x": true, // one site, deadline 0
		"guid 0 1 x": false, "guid -1 1 x": false, "guid 1 -1 x": false, "guid x 1 x": false, "guid 1 x x": false, "guid 1 1": false, "": false,
	} {
		if _, _, _, err := parseTransaction([]byte(data)); (err == nil) != fine {
			t.Errorf("parseTransaction(%q): %v, want an error: %v", data, err, !fine)
		}
	}
}

// The znode that shows that a site is alive belongs to its session: an existing one of the same session stays, one of an earlier session is
// replaced.
func TestTheLifeOfASiteThatReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		before, s := ens.Dial(), ens.Dial()
		defer before.Close()
		defer s.Close()
		if _, err := s.Create(t.Context(), "/tx", nil, zk.Persistent); err != nil {
			t.Fatal(err)
		}
		owner := func() (czxid, owner int64) {
			_, st, err := s.Get(t.Context(), "/tx/alive_1")
			if err != nil {
				t.Fatal(err)
			}
			return st.Czxid, st.EphemeralOwner
		}
		o := recipes.Options{Site: 1, Alive: true}
		if err := newSite(before, "/tx", o).live(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := newSite(s, "/tx", o).live(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		first, of := owner()
		if of != s.ID() {
			t.Errorf("the znode is of session %x, want %x", of, s.ID())
		}
		if err := newSite(s, "/tx", o).live(t.Context()); err != nil {
			t.Fatal(err)
		}
		if again, _ := owner(); again != first {
			t.Error("the znode of the same session was recreated")
		}
		if err := newSite(s, "/other", o).live(t.Context()); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("live() without a transaction = %v, want ErrNoNode", err)
		}
	})
}

// If the transaction exists, a proposal is refused, unless its own reply was lost: then the data are the same.
func TestAProposalThatExists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		s := ens.Dial()
		defer s.Close()
		data := describe("mine", 1, time.Second, nil)
		c := newSite(s, "/deep/tx", recipes.Options{Members: 1})
		ops := []zk.Op{zk.CreateOp("/deep/tx", data, zk.Persistent)}
		lose := true
		ens.Hook(func(op zktest.Op) zktest.Action {
			l := lose && op.Kind == zk.KindMulti && op.Applied
			if l {
				lose = false
				time.AfterFunc(time.Second, func() { ens.Reconnect(s) })
			}
			return zktest.Action{Lose: l}
		})
		if err := c.propose(t.Context(), ops, data); err != nil {
			t.Errorf("propose() with a lost reply = %v, want nil", err)
		}
		if lose {
			t.Error("no reply was lost")
		}
		if err := c.propose(t.Context(), ops, data); !errors.Is(err, recipes.ErrProposed) {
			t.Errorf("propose() again = %v, want ErrProposed", err)
		}
	})
}

// A proposal's request is lost, and then the transaction is another site's, or is gone again, or cannot be read.
func TestALostProposal(t *testing.T) {
	for _, c := range []struct {
		sentence string
		meets    func(t *testing.T, ens *zktest.Ensemble, other zk.Session) // right before the site reads
		err      error
	}{
		{"it is another's", func(*testing.T, *zktest.Ensemble, zk.Session) {}, recipes.ErrProposed},
		{"it is gone again", func(t *testing.T, _ *zktest.Ensemble, other zk.Session) {
			if err := other.Delete(t.Context(), "/tx", zk.AnyVersion); err != nil {
				t.Error(err)
			}
		}, recipes.ErrNoTransaction},
		{"it cannot be read", nil, zk.ErrNoAuth},
	} {
		synctest.Test(t, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			s, other := ens.Dial(), ens.Dial()
			defer s.Close()
			defer other.Close()
			lost, read := false, false
			ens.Hook(func(op zktest.Op) zktest.Action {
				switch {
				case op.Session != s || op.Applied:
				case op.Kind == zk.KindMulti && !lost:
					lost = true
					if _, err := other.Create(t.Context(), "/tx", describe("theirs", 1, time.Second, nil), zk.Persistent); err != nil {
						t.Error(err)
					}
					return zktest.Action{Lose: true}
				case op.Kind == zk.KindGet && c.meets == nil:
					return zktest.Action{Err: zk.ErrNoAuth}
				case op.Kind == zk.KindGet && !read:
					read = true
					c.meets(t, ens, other)
				}
				return zktest.Action{}
			})
			if err := newSite(s, "/tx", recipes.Options{Members: 1}).Propose(t.Context(), nil); !errors.Is(err, c.err) || !lost {
				t.Errorf("%s: Propose() = %v, want %v", c.sentence, err, c.err)
			}
		})
	}
}

// Learn returns the payload, or an error if it may not read the transaction or create the znode that shows that the site is alive.
func TestLearn(t *testing.T) {
	for _, c := range []struct {
		sentence string
		refused  zk.Kind // the first request of this kind
		removed  bool    // before the read
		err      error
	}{
		{"nothing is refused", 0, false, nil},
		{"the exists is refused", zk.KindExists, false, zk.ErrNoAuth},
		{"the read is refused", zk.KindGet, false, zk.ErrNoAuth},
		{"the site's znode is refused", zk.KindCreate, false, zk.ErrNoAuth},
		{"it is gone before the read", 0, true, recipes.ErrNoTransaction},
	} {
		synctest.Test(t, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			s, other := ens.Dial(), ens.Dial()
			defer s.Close()
			defer other.Close()
			ens.Hook(func(op zktest.Op) zktest.Action {
				switch {
				case op.Session != s || op.Applied:
				case c.err == zk.ErrNoAuth && op.Kind == c.refused:
					return zktest.Action{Err: zk.ErrNoAuth}
				case op.Kind == zk.KindGet && c.removed:
					other.Delete(t.Context(), "/tx", zk.AnyVersion)
				}
				return zktest.Action{}
			})
			time.AfterFunc(time.Second, func() {
				other.Create(t.Context(), "/tx", describe("guid", 1, time.Minute, []byte("p")), zk.Persistent)
			})
			payload, err := newSite(s, "/tx", recipes.Options{Site: 1, Alive: true}).Learn(t.Context())
			if !errors.Is(err, c.err) || string(payload) != map[bool]string{true: "p"}[c.err == nil] {
				t.Errorf("%s: Learn() = %q, %v, want %v", c.sentence, payload, err, c.err)
			}
		})
	}
}
