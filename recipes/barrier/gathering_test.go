package barrier

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestIsMember(t *testing.T) {
	guid := znode.NewGUID()
	for name, want := range map[string]bool{
		guid: true, strings.ToUpper(guid): true, znode.Dashed(guid): true, "": false, "ready": false, "0000000001": false, guid[1:]: false, guid + "0": false,
		guid[1:] + "g": false, strings.Repeat("x", 32): false,
	} {
		if got := isMember(name); got != want {
			t.Errorf("isMember(%q) = %v, want %v", name, got, want)
		}
	}
}

// partial is a session that returns only the first results of a multi, and calls meanwhile after its first one.
type partial struct {
	zk.Session
	results   int
	multis    int
	meanwhile func()
}

func (s *partial) Multi(ctx context.Context, ops ...zk.Op) ([]zk.OpResult, error) {
	results, err := s.Session.Multi(ctx, ops...)
	if s.multis++; s.multis == 1 && s.meanwhile != nil {
		s.meanwhile()
	}
	return results[:min(s.results, len(results))], err
}

// Two members open a generation at the same time, or somebody is a generation ahead, or both: in the end the marker exists, however much the engine says
// about the operations that failed.
func TestAGenerationIsOpenedOnce(t *testing.T) {
	const room, marker, ahead = "/b/0000000000", "/b/0000000000/ready", "/b/0000000001"
	for _, c := range []struct {
		sentence  string
		there     []string // existing znodes next to the room
		meanwhile string   // created between the first transaction and the second
		results   int
		multis    int
	}{
		{"nobody else opens it", nil, "", 3, 1},
		{"somebody else was as fast", []string{marker, ahead}, "", 3, 1},
		{"somebody else was as fast, and the next room is gone", []string{marker}, "", 3, 1},
		{"somebody is a generation ahead", []string{ahead}, "", 3, 2},
		{"somebody is a generation ahead, and another member was faster", []string{ahead}, marker, 3, 2},
		{"no results: somebody else was as fast", []string{marker, ahead}, "", 0, 2},
		{"no results: somebody is a generation ahead", []string{ahead}, "", 0, 2},
		{"one result: somebody else was as fast", []string{marker, ahead}, "", 1, 2},
		{"two results: somebody else was as fast", []string{marker, ahead}, "", 2, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			s := ens.Dial()
			defer s.Close()
			put := func(path string) {
				if _, err := s.Create(t.Context(), path, nil, zk.Persistent); err != nil {
					t.Fatal(err)
				}
			}
			for _, path := range append([]string{"/b", room}, c.there...) {
				put(path)
			}
			l := &partial{Session: s, results: c.results}
			if c.meanwhile != "" {
				l.meanwhile = func() { put(c.meanwhile) }
			}
			g := newGathering(l, "/b", "ready", recipes.Options{})
			again, err := g.open(t.Context(), 0)
			if again || err != nil || l.multis != c.multis {
				t.Errorf("%s: again %v, %v in %d transactions, want %d", c.sentence, again, err, l.multis, c.multis)
			}
			if _, there := ens.Tree()[marker]; !there {
				t.Errorf("%s: no marker", c.sentence)
			}
		})
	}
}

// Clearing an empty generation returns an error only if the session or the context has ended: others may have cleared it, or may have to.
func TestErrorsOfClearingAGeneration(t *testing.T) {
	for err, fails := range map[error]bool{
		nil: false, zk.ErrNoNode: false, zk.ErrNoAuth: false, zk.ErrBadVersion: false,
		zk.ErrSessionExpired: true, zk.ErrClosed: true, context.Canceled: true, zk.Abandoned(context.Canceled): true,
	} {
		if got := ended(err); fails && !errors.Is(got, err) || !fails && got != nil {
			t.Errorf("ended(%v) = %v, want an error: %v", err, got, fails)
		}
	}
}

// A throttled removal is repeated until its context ends.
func TestAThrottledRemovalIsRepeated(t *testing.T) {
	for _, cut := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			s := ens.Dial()
			defer s.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			refused := 0
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind != zk.KindDelete || op.Applied || refused == 2 {
					return zktest.Action{}
				}
				if refused++; cut {
					time.AfterFunc(znode.Backoff(1)/2, cancel)
				}
				return zktest.Action{Err: zk.ErrThrottled}
			})
			b := Variants()[0].New(s, "/b", recipes.Options{})
			if err := b.Set(t.Context()); err != nil {
				t.Fatal(err)
			}
			err := b.Remove(ctx)
			_, there := ens.Tree()["/b"]
			switch {
			case cut && (err == nil || errors.Is(err, recipes.ErrInDoubt) || !there || refused != 1):
				t.Errorf("Remove() whose context ends = %v, the barrier is there: %v; want an error without doubt", err, there)
			case !cut && (err != nil || there || refused != 2):
				t.Errorf("Remove() = %v, the barrier is there: %v", err, there)
			}
		})
	}
}
