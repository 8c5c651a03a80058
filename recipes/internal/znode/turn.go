package znode

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Turn is how a place in a queue waits until it is the first. Its steps are functions, so that tests can replace one of them and see whether the checks notice.
type Turn struct {
	// Ahead decides, without any waiting, which child has to go first: its name, or "" if self holds.
	Ahead func(children []string, self string, foreign func(string)) (ahead string, err error)
	// Gone reports whether self holds because the one ahead left between the list and the watch.
	Gone func() bool
	// Woken reports whether self holds because of an event.
	Woken func(e zk.Event) (holds bool, err error)
	// Armed, if not nil, is called when the one ahead is being watched.
	Armed func()
}

// InTurn has the correct steps: whatever has happened, it lists again. The one ahead may have been a waiter that died in the middle of the queue, and
// the event may be a change of its data.
func InTurn(ahead func(children []string, self string, foreign func(string)) (string, error)) Turn {
	return Turn{
		Ahead: ahead,
		Gone:  func() bool { return false },
		Woken: func(e zk.Event) (bool, error) { return false, e.Err },
	}
}

// LockTurn returns the turn of an exclusive lock: the lowest number holds, and every other waits for the one before it.
func LockTurn() Turn {
	return InTurn(func(children []string, self string, foreign func(string)) (string, error) {
		return Position(children, self, LockMarkers, foreign)
	})
}

// Wait returns when self, a child of dir, holds. It gives up with the error that refused yields. The steps are numbered as on ZooKeeper's recipe
// page, 'Locks', where step 1 is the create.
func (t Turn) Wait(ctx context.Context, s zk.Session, dir, self string, o *recipes.Options, refused <-chan error) error {
	var passes Passes
	for {
		children, _, err := s.Children(ctx, dir) // step 2, without a watch
		if err != nil {
			return err
		}
		ahead, err := t.Ahead(children, self, o.Foreign)
		if err != nil || ahead == "" { // step 3
			return err
		}
		o.Pause(recipes.PauseListed)
		w, err := Watch(ctx, s, dir+"/"+ahead, o.Watch) // step 4
		if errors.Is(err, zk.ErrNoNode) {
			if t.Gone() {
				return nil
			}
			if err := passes.Next(ctx, ahead); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if t.Armed != nil {
			t.Armed()
		}
		holds := false
		select {
		case e := <-w.C(): // step 5
			holds, err = t.Woken(e)
		case err = <-refused:
			w.Stop()
		case <-ctx.Done():
			w.Stop()
			err = ctx.Err()
		}
		if holds || err != nil {
			return err
		}
		o.Pause(recipes.PauseWoken)
	}
}
