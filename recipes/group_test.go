package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// ids is the members of a view in one word.
func ids(v recipes.View) string {
	var all []string
	for _, m := range v.Members {
		all = append(all, m.ID)
	}
	return strings.Join(all, " ")
}

// groupSuite is what every group of the catalogue must do.
func groupSuite(t *testing.T, v recipes.Variant[recipes.Group], dial func(*testing.T) zk.Session, dir string) {
	ctx := t.Context()
	names := []string{"a/b", "c d", "xü", "z"}
	var members, observers []recipes.Group
	for range names {
		members = append(members, v.New(dial(t), dir, recipes.Options{}))
	}
	for range 3 {
		observers = append(observers, v.New(dial(t), dir, recipes.Options{}))
	}
	seen := make([]recipes.View, len(observers))
	see := func(want string) {
		t.Helper()
		for i, o := range observers {
			for done := false; !done; done = ids(seen[i]) == want {
				next, err := o.Watch(ctx, seen[i].Token)
				ok(t, "Watch()", err)
				if next.Token <= seen[i].Token {
					t.Fatalf("view %d after %d", next.Token, seen[i].Token)
				}
				seen[i] = next
			}
			for _, m := range seen[i].Members {
				if v.Tokens && (string(m.Data) != "of "+m.ID || m.Token == 0) || !v.Tokens && m.Data != nil {
					t.Errorf("member %+v", m)
				}
			}
		}
	}
	see("")
	if _, err := members[0].Join(ctx, "..", nil); !errors.Is(err, zk.ErrBadArguments) {
		t.Errorf("Join() with an id that is no name = %v", err)
	}
	last := int64(0)
	for i, id := range names {
		g, err := members[i].Join(ctx, id, []byte("of "+id))
		ok(t, "Join()", err)
		if g.Token <= last {
			t.Errorf("grant %+v after %d", g, last)
		}
		last = g.Token
		see(strings.Join(names[:i+1], " "))
	}
	if now, err := members[3].View(ctx); err != nil || ids(now) != strings.Join(names, " ") || now.Token < last {
		t.Errorf("View() = %+v, %v", now, err)
	}
	if _, err := members[0].Join(ctx, "another", nil); !errors.Is(err, recipes.ErrHeld) {
		t.Errorf("Join() of a member = %v, want ErrHeld", err)
	}
	second := v.New(dial(t), dir, recipes.Options{})
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := second.Join(soon, "z", nil); !errors.Is(err, recipes.ErrIDTaken) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Join() with the id of another = %v, want ErrIDTaken and the context's end", err)
	}
	joined := make(chan error, 1)
	go func() {
		_, err := second.Join(ctx, "z", []byte("of z"))
		joined <- err
	}()
	for i, m := range members {
		ok(t, "Leave()", m.Leave(ctx))
		see(strings.Join(names[i+1:], " ") + map[bool]string{true: "z"}[i == 3])
	}
	ok(t, "Join() with the id of who has left", <-joined)
	if err := members[0].Leave(ctx); !errors.Is(err, recipes.ErrNotHeld) {
		t.Errorf("Leave() of no member = %v, want ErrNotHeld", err)
	}
	ok(t, "Leave()", second.Leave(ctx))
	see("")
}

func TestGroupsInMemory(t *testing.T) {
	for _, v := range recipes.Groups {
		bubble(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) { groupSuite(t, v, dialIn(ens), "/deep/down/group") })
	}
}

func TestGroupsOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range recipes.Groups {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				groupSuite(t, v, dialer(addresses, open), "/real/groups/"+engine+"-"+v.Name)
			})
		}
	}
}

func eachGroup(t *testing.T, test func(*testing.T, recipes.Variant[recipes.Group], *zktest.Ensemble)) {
	for _, v := range recipes.Groups {
		bubble(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) { test(t, v, ens) })
	}
}

// joining is a Join in a goroutine of its own.
func joining(ctx context.Context, g recipes.Group) *attempt {
	return begin(func() (recipes.Grant, error) { return g.Join(ctx, "m", nil) })
}

// watching is a Watch in a goroutine of its own.
func watching(ctx context.Context, g recipes.Group, token int64) (view *recipes.View, done *attempt) {
	view = new(recipes.View)
	return view, begin(func() (_ recipes.Grant, err error) { *view, err = g.Watch(ctx, token); return })
}

// What happens while an observer is busy comes as one view, also when the members are the same again.
func TestFlapsCoalesce(t *testing.T) {
	eachGroup(t, func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
		m, o := v.New(ens.Dial(), dir, recipes.Options{}), v.New(ens.Dial(), dir, recipes.Options{})
		expect(t, "the member", joining(t.Context(), m), "holds")
		before, err := o.Watch(t.Context(), 0)
		ok(t, "Watch()", err)
		var last recipes.Grant
		for range 5 {
			ok(t, "Leave()", m.Leave(t.Context()))
			last, err = m.Join(t.Context(), "m", nil)
			ok(t, "Join()", err)
		}
		after, done := watching(t.Context(), o, before.Token)
		if expect(t, "the observer", done, "holds"); ids(*after) != "m" || after.Token != last.Token {
			t.Errorf("view %+v after 5 flaps that ended with %d", after, last.Token)
		}
		_, done = watching(t.Context(), o, after.Token)
		expect(t, "the observer of nothing", done, "waits")
	})
}

// One change costs each observer an event and a list, and of a view with data a read for each member.
func TestTheCostOfAChange(t *testing.T) {
	eachGroup(t, func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
		const members, observers, bytes = 1000, 3, 1000 * (4 + len("member-0000"))
		for i := range members {
			_, err := v.New(ens.Dial(), dir, recipes.Options{}).Join(t.Context(), fmt.Sprintf("member-%04d", i), nil)
			ok(t, "Join()", err)
		}
		var calls map[zk.Kind]int
		listed := 0
		count := &zk.Trace{Call: func(c zk.Call) {
			if calls[c.Kind]++; c.Kind == zk.KindChildren {
				listed = c.Bytes
			}
		}}
		var all []recipes.Group
		var tokens []int64
		for range observers {
			calls = map[zk.Kind]int{}
			o := v.New(zk.Observe(ens.Dial(), count), dir, recipes.Options{})
			first, err := o.Watch(t.Context(), 0)
			ok(t, "Watch()", err)
			all, tokens = append(all, o), append(tokens, first.Token)
			if listed != bytes || len(first.Members) != members {
				t.Errorf("%d members in %d bytes, want %d in %d", len(first.Members), listed, members, bytes)
			}
		}
		before := eventsOf(ens)
		calls = map[zk.Kind]int{}
		expect(t, "one more", joining(t.Context(), v.New(ens.Dial(), dir, recipes.Options{})), "holds")
		for i, o := range all {
			_, err := o.Watch(t.Context(), tokens[i])
			ok(t, "Watch()", err)
		}
		reads := map[bool]int{true: observers * (members + 1)}[v.Tokens]
		if events := eventsOf(ens) - before; events != observers || calls[zk.KindChildren] != observers || calls[zk.KindGet] != reads {
			t.Errorf("%d events and requests %v, want %d, as many lists, and %d reads", events, calls, observers, reads)
		}
	})
}

// A view is what the list says, whatever becomes of a member before its data are read.
func TestAViewIsOneThatExisted(t *testing.T) {
	for _, back := range []bool{false, true} {
		bubble(t, fmt.Sprint("comes back ", back), func(t *testing.T, ens *zktest.Ensemble) {
			v := recipes.Groups[0]
			m := v.New(ens.Dial(), dir, recipes.Options{})
			_, err := m.Join(t.Context(), "m", []byte("old"))
			ok(t, "Join()", err)
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
			o := v.New(ens.Dial(), dir, recipes.Options{})
			first, err := o.Watch(t.Context(), 0)
			if err != nil || len(first.Members) != 1 || first.Members[0].Data != nil {
				t.Errorf("Watch() = %+v, %v, want one member without data", first, err)
			}
			next, err := o.Watch(t.Context(), first.Token)
			want := map[bool]string{true: "m"}[back]
			if err != nil || ids(next) != want || back && string(next.Members[0].Data) != "new" {
				t.Errorf("then %+v, %v", next, err)
			}
		})
	}
}

// An observer whose new session is at a server that lags behind waits until that server knows what the old session had seen.
func TestAViewNeverGoesBackAcrossSessions(t *testing.T) {
	eachGroup(t, func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
		m := v.New(ens.Dial(), dir, recipes.Options{})
		late := ens.Dial()
		ens.Lag(late, 3*time.Second) // and so it does not even know the group
		expect(t, "the member", joining(t.Context(), m), "holds")
		seen, err := v.New(ens.Dial(), dir, recipes.Options{}).Watch(t.Context(), 0)
		ok(t, "Watch()", err)
		o := v.New(late, dir, recipes.Options{})
		next, done := watching(t.Context(), o, seen.Token)
		time.Sleep(10 * time.Second)
		expect(t, "the observer", done, "waits")
		ok(t, "Leave()", m.Leave(t.Context()))
		time.Sleep(10 * time.Second)
		if expect(t, "the observer", done, "holds"); ids(*next) != "" || next.Token <= seen.Token {
			t.Errorf("view %+v after %+v", next, seen)
		}
		if _, err := o.Watch(t.Context(), next.Token+100); !errors.Is(err, recipes.ErrTokenUnknown) {
			t.Errorf("Watch() of the future = %v, want ErrTokenUnknown", err)
		}
	})
}

// An observer that is cut off, or whose group is deleted, sees what has changed when it can; one that gives up leaves no watch.
func TestAnObserverThatIsDisturbed(t *testing.T) {
	eachGroup(t, func(t *testing.T, v recipes.Variant[recipes.Group], ens *zktest.Ensemble) {
		m, s := v.New(ens.Dial(), dir, recipes.Options{}), ens.Dial()
		o := v.New(s, dir, recipes.Options{})
		first, err := o.Watch(t.Context(), 0)
		ok(t, "Watch()", err)
		next, done := watching(t.Context(), o, first.Token)
		ens.Disconnect(s)
		expect(t, "the member", joining(t.Context(), m), "holds")
		expect(t, "the observer", done, "waits")
		ens.Reconnect(s)
		if expect(t, "the observer", done, "holds"); ids(*next) != "m" {
			t.Errorf("view %+v", next)
		}
		ok(t, "Leave()", m.Leave(t.Context()))
		ok(t, "Delete()", ens.Dial().Delete(t.Context(), dir, zk.AnyVersion))
		gone, done := watching(t.Context(), o, next.Token)
		if expect(t, "the observer of a group that was deleted", done, "holds"); ids(*gone) != "" {
			t.Errorf("view %+v", gone)
		}
		expect(t, "the member", joining(t.Context(), m), "holds")
		back, done := watching(t.Context(), o, gone.Token)
		if expect(t, "the observer", done, "holds"); ids(*back) != "m" {
			t.Errorf("view %+v", back)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, done = watching(ctx, o, back.Token)
		cancel()
		expect(t, "who gives up", done, "failed")
		_, err = o.Watch(t.Context(), 0)
		ok(t, "Watch()", err)
		o.Stop()
		o.Stop()
		synctest.Wait()
		if armed := ens.Watches(); len(armed) != 0 {
			t.Errorf("watches are left: %v", armed)
		}
	})
}
