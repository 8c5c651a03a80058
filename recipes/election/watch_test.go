package election

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

// Wherever a candidate comes between an observer's requests, the observer learns that it leads, without another event.
func TestACandidateBetweenTheRequestsOfAnObserver(t *testing.T) {
	for _, c := range []struct {
		sentence  string
		directory bool // exists from the start
		before    func(op zktest.Op) bool
	}{
		{"before the list", true, func(op zktest.Op) bool { return op.Kind == zk.KindChildren && !op.Watch }},
		{"before the watch on the candidates", true, func(op zktest.Op) bool { return op.Kind == zk.KindChildren && op.Watch }},
		{"before the watch on the candidates, with their directory", false, func(op zktest.Op) bool { return op.Kind == zk.KindChildren && op.Watch }},
		{"before the watch on the directory, with it", false, func(op zktest.Op) bool { return op.Kind == zk.KindExists && op.Watch }},
	} {
		synctest.Test(t, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			s, other := ens.Dial(), ens.Dial()
			defer s.Close()
			defer other.Close()
			if c.directory {
				if _, err := other.Create(t.Context(), "/e", nil, zk.Persistent); err != nil {
					t.Fatal(err)
				}
			}
			came := false
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Session != s || op.Applied || came || !c.before(op) {
					return zktest.Action{}
				}
				came = true
				if _, err := newPredecessorElection(other, "/e", recipes.Options{ID: "other"}).Campaign(t.Context()); err != nil {
					t.Error(err)
				}
				return zktest.Action{}
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if l, err := newCandidate(s, "/e", recipes.Options{}).Follow(ctx, 0); l.ID != "other" || l.Token == 0 || err != nil || !came {
				t.Errorf("%s: Follow() = %+v, %v, want the new candidate (which came: %v)", c.sentence, l, err, came)
			}
			synctest.Wait()
			for _, w := range ens.Watches() {
				if w.Session == s.ID() {
					t.Errorf("%s: %s is still watched", c.sentence, w.Path)
				}
			}
		})
	}
}

// Follow returns the refusal of any of its requests.
func TestARefusedFollow(t *testing.T) {
	for what, refused := range map[string]func(op zktest.Op) bool{
		"the list":                         func(op zktest.Op) bool { return op.Kind == zk.KindChildren && !op.Watch },
		"the watch on the candidates":      func(op zktest.Op) bool { return op.Kind == zk.KindChildren && op.Watch },
		"the watch on a missing directory": func(op zktest.Op) bool { return op.Kind == zk.KindExists },
	} {
		synctest.Test(t, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			s := ens.Dial()
			defer s.Close()
			ens.Hook(func(op zktest.Op) zktest.Action {
				if refused(op) {
					return zktest.Action{Err: zk.ErrNoAuth}
				}
				return zktest.Action{}
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if l, err := newCandidate(s, "/e", recipes.Options{}).Follow(ctx, 0); !errors.Is(err, zk.ErrNoAuth) {
				t.Errorf("%s: Follow() = %+v, %v, want ErrNoAuth", what, l, err)
			}
		})
	}
}
