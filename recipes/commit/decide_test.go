package commit

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

// The deadline turns a wait into an abort, but changes neither a known outcome nor another error.
func TestInTime(t *testing.T) {
	failure := errors.New("the wait fails")
	for _, c := range []struct {
		sentence     string
		wait         func(ctx context.Context, u *underway, end func()) (bool, error)
		commit, late bool
		err          error
	}{
		{"the outcome comes in time", func(context.Context, *underway, func()) (bool, error) { return true, nil }, true, false, nil},
		{"the outcome comes at the deadline", func(ctx context.Context, _ *underway, _ func()) (bool, error) { <-ctx.Done(); return true, nil }, true, false, nil},
		{"no outcome comes", func(ctx context.Context, _ *underway, _ func()) (bool, error) { <-ctx.Done(); return false, ctx.Err() }, false, true, nil},
		{"the wait fails before it", func(context.Context, *underway, func()) (bool, error) { return false, failure }, false, false, failure},
		{"the caller's context ends", func(ctx context.Context, _ *underway, end func()) (bool, error) {
			end()
			<-ctx.Done()
			return false, ctx.Err()
		}, false, false, context.Canceled},
		{"the session ends", func(ctx context.Context, _ *underway, _ func()) (bool, error) {
			<-ctx.Done()
			return false, zk.ErrSessionExpired
		}, false, false, zk.ErrSessionExpired},
	} {
		synctest.Test(t, func(t *testing.T) {
			u := begun(t)
			defer u.end()
			ctx, end := context.WithCancel(t.Context())
			defer end()
			u.first.deadline = time.Now().Add(time.Second)
			commit, late, err := u.first.inTime(ctx, func(ctx context.Context) (bool, error) { return c.wait(ctx, u, end) })
			if commit != c.commit || late != c.late || !errors.Is(err, c.err) {
				t.Errorf("%s: commit %v, late %v, %v; want %v, %v, %v", c.sentence, commit, late, err, c.commit, c.late, c.err)
			}
		})
	}
}

// If a vote is overwritten between its read and the decision, the coordinator must not commit.
func TestACommitOfVotesThatHaveChanged(t *testing.T) {
	for again, want := range map[bool]bool{false: true, true: false} {
		synctest.Test(t, func(t *testing.T) {
			u := begun(t)
			defer u.end()
			once := again
			u.first.o.Trace = &recipes.Trace{Pause: func(point string) {
				if point == recipes.PauseDeciding && once {
					once = false
					u.sets(word(false))
				}
			}}
			u.first.deadline = time.Now().Add(time.Minute)
			c := coordinated{u.first}
			u.must(c.watchAndVote(t.Context(), true, 0))
			u.sets(word(true))
			if commit, err := c.coordinate(t.Context()); commit != want || err != nil || once {
				t.Errorf("vote overwritten %v: commit %v, %v; want %v", again, commit, err, want)
			}
			if commit, err := u.second.follow(t.Context()); commit != want || err != nil {
				t.Errorf("vote overwritten %v: the decision is commit %v, %v; want %v", again, commit, err, want)
			}
		})
	}
}

// A site whose own vote was refused does not commit on the votes of the others.
func TestASiteWhoseVoteWasRefusedDoesNotCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := begun(t)
		defer u.end()
		u.ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindSet && op.Path == "/tx/s_1" {
				return zktest.Action{Err: zk.ErrNoAuth}
			}
			return zktest.Action{}
		})
		u.first.o.Alive = false
		u.first.deadline = time.Now().Add(time.Minute)
		c := flat{u.first}
		if err := c.Vote(t.Context(), true); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("Vote() = %v, want ErrNoAuth", err)
		}
		u.sets(word(true))
		start := time.Now()
		if commit, err := c.Decide(t.Context()); commit || err != nil || time.Since(start) != time.Minute {
			t.Errorf("Decide() = %v, %v after %v; want an abort at the deadline", commit, err, time.Since(start))
		}
	})
}
