package bubble

import (
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
)

// Attempt is a call that may have to wait, in its own goroutine.
type Attempt struct {
	Grant recipes.Grant
	Err   error
	Done  chan struct{}
}

// Begin starts a call, and returns when it has ended or blocks.
func Begin(acquire func() (recipes.Grant, error)) *Attempt {
	a := &Attempt{Done: make(chan struct{})}
	go func() {
		defer close(a.Done)
		a.Grant, a.Err = acquire()
	}()
	synctest.Wait()
	return a
}

// State returns "waits", "holds" or "failed".
func (a *Attempt) State() string {
	select {
	case <-a.Done:
		if a.Err != nil {
			return "failed"
		}
		return "holds"
	default:
		return "waits"
	}
}

// Failure returns the error of a call that has ended.
func (a *Attempt) Failure() error { return a.Err }

// Expect fails the test unless an attempt, or its owner, is in this state once everything has settled.
func Expect(t *testing.T, what string, a interface {
	State() string
	Failure() error
}, state string) {
	t.Helper()
	synctest.Wait()
	if got := a.State(); got != state {
		t.Fatalf("%s: the attempt %s (%v), want that it %s", what, got, a.Failure(), state)
	}
}
