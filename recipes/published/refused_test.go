package published

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// prepared returns an ensemble in memory with the directory that the articles' code expects.
func prepared(t *testing.T) *zktest.Ensemble {
	ens := zktest.New(zktest.Config{})
	s := ens.Dial()
	defer s.Close()
	if _, err := s.Create(t.Context(), "/d", nil, zk.Persistent); err != nil {
		t.Fatal(err)
	}
	return ens
}

// zkclient-lock behind a holder: if any of its requests is refused, the acquisition returns the refusal and does not hold.
func TestEachRequestOfAnAcquisitionIsRefused(t *testing.T) {
	const requests = 9 // exists, create, list; exists, exists and watch, exists, list; woken: exists and watch, get
	for n := range requests + 2 {
		synctest.Test(t, func(t *testing.T) {
			ens := prepared(t)
			s, other := ens.Dial(), ens.Dial()
			defer s.Close()
			defer other.Close()
			holder := &zkLockImpl{s: other, dir: "/d"}
			if _, err := holder.Acquire(t.Context()); err != nil {
				t.Fatal(err)
			}
			sent := 0
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Session == s && !op.Applied {
					if sent++; sent == n+1 {
						return zktest.Action{Err: zk.ErrNoAuth}
					}
				}
				return zktest.Action{}
			})
			time.AfterFunc(time.Second, func() { holder.Release(t.Context()) })
			start := time.Now()
			g, err := (&zkLockImpl{s: s, dir: "/d"}).Acquire(t.Context())
			switch took := time.Since(start); {
			case n < requests+1 && (!errors.Is(err, zk.ErrNoAuth) || sent != n+1 || g.Path != ""): // and the last check of its predecessor
				t.Errorf("request %d: Acquire() = %+v, %v after %d requests, want ErrNoAuth", n+1, g, err, sent)
			case n == requests+1 && (err != nil || sent != requests+1 || g.Path == "" || took != time.Second):
				t.Errorf("Acquire() = %+v, %v after %d requests and %v, want a grant after %d requests and a second", g, err, sent, took, requests+1)
			}
		})
	}
}

// An event that is not a deletion does not end the wait.
func TestAChangeOfDataDoesNotEndTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := prepared(t)
		s, other := ens.Dial(), ens.Dial()
		defer s.Close()
		defer other.Close()
		holder := &zkLockImpl{s: other, dir: "/d"}
		held, err := holder.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { other.Set(t.Context(), held.Path, []byte("changed"), zk.AnyVersion) })
		time.AfterFunc(2*time.Second, func() { holder.Release(t.Context()) })
		start := time.Now()
		if _, err := (&zkLockImpl{s: s, dir: "/d"}).Acquire(t.Context()); err != nil || time.Since(start) != 2*time.Second {
			t.Errorf("Acquire() = %v after %v, want a grant at the release, after 2 s", err, time.Since(start))
		}
	})
}

// LeaderElectionSupport withdraws its offer when the application stops it, but leaves it in the queue when it fails.
func TestTheOfferAfterTheEnd(t *testing.T) {
	for _, c := range []struct {
		sentence string
		refused  bool
		offers   int
		last     string // of the stages
	}{
		{"it is stopped", false, 1, recipes.StageStopped},
		{"a read is refused", true, 2, recipes.StageFailed},
	} {
		synctest.Test(t, func(t *testing.T) {
			ens := prepared(t)
			s, other := ens.Dial(), ens.Dial()
			defer s.Close()
			defer other.Close()
			if _, err := (&electionSupport{s: other, dir: "/d"}).Campaign(t.Context()); err != nil {
				t.Fatal(err)
			}
			ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Session == s && op.Kind == zk.KindGet && c.refused {
					return zktest.Action{Err: zk.ErrNoAuth}
				}
				return zktest.Action{}
			})
			var stages []string
			e := &electionSupport{s: s, dir: "/d", o: recipes.Options{Trace: &recipes.Trace{Stage: func(stage string) { stages = append(stages, stage) }}}}
			ctx, stop := context.WithTimeout(t.Context(), time.Second)
			defer stop()
			want := context.DeadlineExceeded
			if c.refused {
				want = zk.ErrNoAuth
			}
			if _, err := e.Campaign(ctx); !errors.Is(err, want) {
				t.Errorf("%s: Campaign() = %v, want %v", c.sentence, err, want)
			}
			if left := ens.Ephemerals(); len(left) != c.offers || stages[len(stages)-1] != c.last || c.refused && slices.Contains(stages, recipes.StageStop) {
				t.Errorf("%s: offers %v, stages %v; want %d, and %s as the last stage", c.sentence, left, stages, c.offers, c.last)
			}
		})
	}
}
