package membership_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/membership"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestGroupsInMemory(t *testing.T) {
	for _, v := range membership.Variants() {
		bubble.Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) {
			recipestest.GroupOn(t, v, bubble.DialIn(ens), "/deep/down/group")
		})
	}
}

// joining starts a Join.
func joining(ctx context.Context, g recipes.Group) *bubble.Attempt {
	return bubble.Begin(func() (recipes.Grant, error) { return g.Join(ctx, "m", nil) })
}

// watching starts a Watch.
func watching(ctx context.Context, g recipes.Group, token int64) (view *recipes.View, done *bubble.Attempt) {
	view = new(recipes.View)
	return view, bubble.Begin(func() (_ recipes.Grant, err error) { *view, err = g.Watch(ctx, token); return })
}

// All changes while an observer is busy result in one view, even if the members are the same again.
func TestFlapsCoalesce(t *testing.T) {
	bubble.Each(t, membership.Variants(), func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
		m, o := v.New(ens.Dial(), bubble.Dir, recipes.Options{}), v.New(ens.Dial(), bubble.Dir, recipes.Options{})
		bubble.Expect(t, "the member", joining(t.Context(), m), "holds")
		before, err := o.Watch(t.Context(), 0)
		bubble.OK(t, "Watch()", err)
		var last recipes.Grant
		for range 5 {
			bubble.OK(t, "Leave()", m.Leave(t.Context()))
			last, err = m.Join(t.Context(), "m", nil)
			bubble.OK(t, "Join()", err)
		}
		after, done := watching(t.Context(), o, before.Token)
		if bubble.Expect(t, "the observer", done, "holds"); bubble.IDs(*after) != "m" || after.Token != last.Token {
			t.Errorf("view %+v after 5 flaps that ended with %d", after, last.Token)
		}
		_, done = watching(t.Context(), o, after.Token)
		bubble.Expect(t, "the observer without a change", done, "waits")
	})
}

// A change costs each observer one event and one list and, if views include data, a read for each member.
func TestTheCostOfAChange(t *testing.T) {
	bubble.Each(t, membership.Variants(), func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
		const members, observers, bytes = 1000, 3, 1000 * (4 + len("member-0000"))
		for i := range members {
			_, err := v.New(ens.Dial(), bubble.Dir, recipes.Options{}).Join(t.Context(), fmt.Sprintf("member-%04d", i), nil)
			bubble.OK(t, "Join()", err)
		}
		var calls map[zk.Kind]int
		listed := 0
		count := &zk.Trace{Call: func(c *zk.Call) {
			if calls[c.Kind]++; c.Kind == zk.KindChildren {
				listed = c.Bytes
			}
		}}
		var all []recipes.Group
		var tokens []int64
		for range observers {
			calls = map[zk.Kind]int{}
			o := v.New(zk.Observe(ens.Dial(), count), bubble.Dir, recipes.Options{})
			first, err := o.Watch(t.Context(), 0)
			bubble.OK(t, "Watch()", err)
			all, tokens = append(all, o), append(tokens, first.Token)
			if listed != bytes || len(first.Members) != members {
				t.Errorf("%d members in %d bytes, want %d in %d", len(first.Members), listed, members, bytes)
			}
		}
		before := bubble.Events(ens)
		calls = map[zk.Kind]int{}
		bubble.Expect(t, "one more", joining(t.Context(), v.New(ens.Dial(), bubble.Dir, recipes.Options{})), "holds")
		for i, o := range all {
			_, err := o.Watch(t.Context(), tokens[i])
			bubble.OK(t, "Watch()", err)
		}
		reads := map[bool]int{true: observers * (members + 1)}[v.Tokens]
		if events := bubble.Events(ens) - before; events != observers || calls[zk.KindChildren] != observers || calls[zk.KindGet] != reads {
			t.Errorf("%d events and requests %v, want %d, as many lists, and %d reads", events, calls, observers, reads)
		}
	})
}

// A view has the members of the list, even if a member leaves before its data are read.
func TestAViewIsOneThatExisted(t *testing.T) {
	for _, back := range []bool{false, true} {
		bubble.Run(t, fmt.Sprint("comes back ", back), func(t *testing.T, ens *zktest.Ensemble) {
			v := membership.Variants()[0]
			m := v.New(ens.Dial(), bubble.Dir, recipes.Options{})
			_, err := m.Join(t.Context(), "m", []byte("old"))
			bubble.OK(t, "Join()", err)
			var once bool
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind != zk.KindGet || op.Applied || once {
					return zktest.Action{}
				}
				once = true
				if err := m.Leave(t.Context()); err != nil {
					t.Error(err)
				}
				if back {
					if _, err := m.Join(t.Context(), "m", []byte("new")); err != nil {
						t.Error(err)
					}
				}
				return zktest.Action{}
			})
			o := v.New(ens.Dial(), bubble.Dir, recipes.Options{})
			first, err := o.Watch(t.Context(), 0)
			if err != nil || len(first.Members) != 1 || first.Members[0].Data != nil {
				t.Errorf("Watch() = %+v, %v, want one member without data", first, err)
			}
			next, err := o.Watch(t.Context(), first.Token)
			want := map[bool]string{true: "m"}[back]
			if err != nil || bubble.IDs(next) != want || back && string(next.Members[0].Data) != "new" {
				t.Errorf("then %+v, %v", next, err)
			}
		})
	}
}

// An observer with a new session on a lagging server waits until that server knows what the old session had seen.
func TestAViewNeverGoesBackAcrossSessions(t *testing.T) {
	bubble.Each(t, membership.Variants(), func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
		m := v.New(ens.Dial(), bubble.Dir, recipes.Options{})
		late := ens.Dial()
		ens.Lag(late, 3*time.Second) // it does not even know the group
		bubble.Expect(t, "the member", joining(t.Context(), m), "holds")
		seen, err := v.New(ens.Dial(), bubble.Dir, recipes.Options{}).Watch(t.Context(), 0)
		bubble.OK(t, "Watch()", err)
		o := v.New(late, bubble.Dir, recipes.Options{})
		next, done := watching(t.Context(), o, seen.Token)
		time.Sleep(10 * time.Second)
		bubble.Expect(t, "the observer", done, "waits")
		bubble.OK(t, "Leave()", m.Leave(t.Context()))
		time.Sleep(10 * time.Second)
		if bubble.Expect(t, "the observer", done, "holds"); bubble.IDs(*next) != "" || next.Token <= seen.Token {
			t.Errorf("view %+v after %+v", next, seen)
		}
		if _, err := o.Watch(t.Context(), next.Token+100); !errors.Is(err, recipes.ErrTokenUnknown) {
			t.Errorf("Watch() of the future = %v, want ErrTokenUnknown", err)
		}
	})
}

// An observer sees changes after a disconnection and after the group's directory was deleted. When it gives up, it leaves no watch.
func TestADisturbedObserver(t *testing.T) {
	bubble.Each(t, membership.Variants(), func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
		m, s := v.New(ens.Dial(), bubble.Dir, recipes.Options{}), ens.Dial()
		o := v.New(s, bubble.Dir, recipes.Options{})
		first, err := o.Watch(t.Context(), 0)
		bubble.OK(t, "Watch()", err)
		next, done := watching(t.Context(), o, first.Token)
		ens.Disconnect(s)
		bubble.Expect(t, "the member", joining(t.Context(), m), "holds")
		bubble.Expect(t, "the observer", done, "waits")
		ens.Reconnect(s)
		if bubble.Expect(t, "the observer", done, "holds"); bubble.IDs(*next) != "m" {
			t.Errorf("view %+v", next)
		}
		bubble.OK(t, "Leave()", m.Leave(t.Context()))
		bubble.OK(t, "Delete()", ens.Dial().Delete(t.Context(), bubble.Dir, zk.AnyVersion))
		gone, done := watching(t.Context(), o, next.Token)
		if bubble.Expect(t, "the observer of a group that was deleted", done, "holds"); bubble.IDs(*gone) != "" {
			t.Errorf("view %+v", gone)
		}
		bubble.Expect(t, "the member", joining(t.Context(), m), "holds")
		back, done := watching(t.Context(), o, gone.Token)
		if bubble.Expect(t, "the observer", done, "holds"); bubble.IDs(*back) != "m" {
			t.Errorf("view %+v", back)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, done = watching(ctx, o, back.Token)
		cancel()
		bubble.Expect(t, "a cancelled observer", done, "failed")
		_, err = o.Watch(t.Context(), 0)
		bubble.OK(t, "Watch()", err)
		o.Stop()
		o.Stop()
		synctest.Wait()
		if armed := ens.Watches(); len(armed) != 0 {
			t.Errorf("watches are left: %v", armed)
		}
	})
}

// The last reply of a Join arrives after the lease that it started under has ended. The grant must be under the new lease.
func TestALateMembershipIsUnderTheNewLease(t *testing.T) {
	bubble.Each(t, membership.Variants(), func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
		s := ens.Dial()
		bubble.LateReply(ens, s, zk.KindCreate, "/m")
		g := v.New(s, bubble.Dir, recipes.Options{})
		a := joining(t.Context(), g)
		<-a.Done
		bubble.Expect(t, "the member", a, "holds")
		bubble.Reliable(t, a.Grant)
		bubble.OK(t, "Leave()", g.Leave(context.WithoutCancel(t.Context())))
	})
}
