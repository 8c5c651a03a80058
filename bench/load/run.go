package load

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/results"
)

// Run is what the cells of a run share.
type Run struct {
	Share    fleet.Share    // the share of the sessions that this process carries out
	Meeting  *fleet.Meeting // where it waits for the other shares; nil if there are none
	Out      *results.Dir
	Progress func(Update) // may be nil; called from one goroutine at a time
	Blocks   *Blocks      // cuts the steady phase into blocks and ends it; nil if the profile's duration ends it
	Stop     <-chan struct{}

	mu     sync.Mutex           // serializes Progress
	loaded atomic.Pointer[Cell] // the cell under load
}

// Loaded returns the cell under load, or nil if there is none.
func (r *Run) Loaded() *Cell { return r.loaded.Load() }

// Report passes the state of the run to Progress, one call at a time.
func (r *Run) Report(u Update) {
	if r.Progress != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.Progress(u)
	}
}

// Tell reports a message.
func (r *Run) Tell(message string) { r.Report(Update{Message: message}) }

// TellOf reports a message about an event.
func (r *Run) TellOf(e Event, message string) { r.Report(Update{Message: message, Event: &e}) }

// Meet waits until all shares have reached a stage of a cell. A run without other shares does not wait.
func (r *Run) Meet(ctx context.Context, f *target.Failure, cell int, stage string) error {
	if r.Meeting == nil {
		return nil
	}
	ctx, end := f.Bounded(ctx, r.Stop)
	defer end()
	return r.Meeting.Await(ctx, cell, stage)
}

// ByLowest runs do in the lowest share, while the other shares wait.
func (r *Run) ByLowest(ctx context.Context, f *target.Failure, cell int, stage string, do func() error) error {
	if r.Share.Lowest() {
		if err := do(); err != nil {
			return err
		}
	}
	return r.Meet(ctx, f, cell, stage)
}

// IsClosed reports whether a channel that nobody sends on is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
