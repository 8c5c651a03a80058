package recipestest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk"
)

// GroupOn tests that observers see who joins and who leaves, in views that follow each other. A variant with Tokens has views with the members' data.
func GroupOn(t *testing.T, v recipes.Variant[recipes.Group], dial Dial, dir string) {
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
			for done := false; !done; done = bubble.IDs(seen[i]) == want {
				next, err := o.Watch(ctx, seen[i].Token)
				bubble.OK(t, "Watch()", err)
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
		bubble.OK(t, "Join()", err)
		if g.Token <= last {
			t.Errorf("grant %+v after %d", g, last)
		}
		last = g.Token
		see(strings.Join(names[:i+1], " "))
	}
	if now, err := members[3].View(ctx); err != nil || bubble.IDs(now) != strings.Join(names, " ") || now.Token < last {
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
		bubble.OK(t, "Leave()", m.Leave(ctx))
		see(strings.Join(names[i+1:], " ") + map[bool]string{true: "z"}[i == 3])
	}
	bubble.OK(t, "Join() with the id of who has left", <-joined)
	if err := members[0].Leave(ctx); !errors.Is(err, recipes.ErrNotHeld) {
		t.Errorf("Leave() of no member = %v, want ErrNotHeld", err)
	}
	bubble.OK(t, "Leave()", second.Leave(ctx))
	see("")
}
