package membership_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/membership"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A member's client dies and comes back with the same id in a new session. It has not joined already: it waits for the end of the old session,
// and gets a later token.
func TestAMemberThatComesBackWaitsForItsFormerSession(t *testing.T) {
	bubble.Each(t, membership.Variants(), func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
		old := ens.Dial()
		first := joining(t.Context(), v.New(old, bubble.Dir, recipes.Options{}))
		bubble.Expect(t, "the first", first, "holds")
		ens.Disconnect(old)
		again := joining(t.Context(), v.New(ens.Dial(), bubble.Dir, recipes.Options{}))
		bubble.Expect(t, "the returning client", again, "waits")
		time.Sleep(old.Timeout() * 19 / 20)
		if bubble.Expect(t, "shortly before the timeout", again, "waits"); !bubble.Closed(first.Grant.Lost) {
			t.Error("Lost of the first membership is open")
		}
		time.Sleep(old.Timeout())
		if bubble.Expect(t, "after the timeout", again, "holds"); again.Grant.Token <= first.Grant.Token {
			t.Errorf("token %d after %d", again.Grant.Token, first.Grant.Token)
		}
	})
}

// When its session expires, a member's grant is lost, it can neither leave nor join, and another session can join.
func TestAMemberThatExpires(t *testing.T) {
	bubble.Each(t, membership.Variants(), func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
		s := ens.Dial()
		g := v.New(s, bubble.Dir, recipes.Options{})
		a := joining(t.Context(), g)
		bubble.Expect(t, "the member", a, "holds")
		ens.Expire(s)
		<-a.Grant.Lost
		if err := g.Leave(t.Context()); !errors.Is(err, recipes.ErrMemberLost) {
			t.Errorf("Leave() = %v, want ErrMemberLost", err)
		}
		if _, err := g.Join(t.Context(), "m", nil); !errors.Is(err, zk.ErrSessionExpired) {
			t.Errorf("Join() with the old session = %v, want ErrSessionExpired", err)
		}
		bubble.Expect(t, "the next", joining(t.Context(), v.New(ens.Dial(), bubble.Dir, recipes.Options{})), "holds")
	})
}

func TestAMemberWhoseZnodeIsDeleted(t *testing.T) {
	bubble.Each(t, membership.Variants(), func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
		g := v.New(ens.Dial(), bubble.Dir, recipes.Options{WatchOwn: true})
		a := joining(t.Context(), g)
		bubble.Expect(t, "the member", a, "holds")
		bubble.OK(t, "Delete()", ens.Dial().Delete(t.Context(), a.Grant.Path, zk.AnyVersion))
		<-a.Grant.Lost
		if err := g.Leave(t.Context()); !errors.Is(err, recipes.ErrMemberLost) {
			t.Errorf("Leave() = %v, want ErrMemberLost", err)
		}
	})
}

// Join and Leave work despite a lost reply, whether or not the request was applied.
func TestLostRepliesOfAMember(t *testing.T) {
	for _, applied := range []bool{false, true} {
		bubble.Each(t, membership.Variants(), func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
			g := v.New(ens.Dial(), bubble.Dir, recipes.Options{})
			any := func(path string) bool { return path == bubble.Dir+"/m" }
			bubble.MakeDir(t, ens.Dial())
			lost := bubble.LoseOnce(ens, zk.KindCreate, applied, any)
			grant, err := g.Join(t.Context(), "m", nil)
			bubble.OK(t, "Join()", err)
			if st := ens.Tree()[bubble.Dir+"/m"].Stat; !*lost || st.Czxid != grant.Token {
				t.Errorf("the znode is %+v, the token %d", st, grant.Token)
			}
			lost = bubble.LoseOnce(ens, zk.KindDelete, applied, any)
			if err := g.Leave(t.Context()); !*lost || err != nil {
				t.Errorf("Leave() = %v", err)
			}
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A Join cancelled in doubt leaves nothing behind, and its cleanup does not touch the next membership.
func TestACancelledJoinInDoubt(t *testing.T) {
	for _, applied := range []bool{false, true} {
		bubble.Each(t, membership.Variants(), func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
			s := ens.Dial()
			g := v.New(s, bubble.Dir, recipes.Options{})
			_, err := v.New(ens.Dial(), bubble.Dir, recipes.Options{}).Join(t.Context(), "another", nil)
			bubble.OK(t, "Join()", err)
			ctx, cancel := context.WithCancel(t.Context())
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindCreate && op.Applied == applied {
					ens.Disconnect(s)
				}
				return zktest.Action{}
			})
			a := joining(ctx, g)
			cancel()
			bubble.Expect(t, "the join", a, "failed")
			ens.Hook(nil)
			next := joining(t.Context(), g)
			bubble.Expect(t, "the next", next, "waits")
			ens.Reconnect(s)
			bubble.Expect(t, "the next", next, "holds")
			time.Sleep(time.Minute)
			if left := ens.Ephemerals(); len(left) != 2 || ens.Tree()[bubble.Dir+"/m"].Stat.Czxid != next.Grant.Token {
				t.Errorf("znodes %v, want the member's of token %d", left, next.Grant.Token)
			}
			bubble.OK(t, "Leave()", g.Leave(t.Context()))
		})
	}
}

// A cancelled Leave continues in the background. It deletes neither the handle's next membership nor another client's with the same id.
func TestACancelledLeave(t *testing.T) {
	for _, applied := range []bool{false, true} {
		for _, who := range []string{"the same", "another"} {
			bubble.Each(t, membership.Variants(), func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
				s := ens.Dial()
				g := v.New(s, bubble.Dir, recipes.Options{})
				bubble.Expect(t, "the member", joining(t.Context(), g), "holds")
				heir := g
				var next *bubble.Attempt
				if who == "another" {
					heir = v.New(ens.Dial(), bubble.Dir, recipes.Options{})
					next = joining(t.Context(), heir)
				}
				ens.Hook(func(op zktest.Op) zktest.Action {
					if op.Kind == zk.KindDelete && op.Applied == applied {
						ens.Disconnect(s)
					}
					return zktest.Action{}
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := g.Leave(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Leave() = %v, want the context's end", err)
				}
				ens.Hook(nil)
				if who == "the same" {
					next = joining(t.Context(), g)
				}
				ens.Reconnect(s)
				time.Sleep(time.Minute)
				bubble.Expect(t, who, next, "holds")
				if st := ens.Tree()[bubble.Dir+"/m"].Stat; st.Czxid != next.Grant.Token {
					t.Errorf("the znode is %+v, want that of token %d", st, next.Grant.Token)
				}
				bubble.OK(t, "Leave()", heir.Leave(t.Context()))
			})
		}
	}
}
