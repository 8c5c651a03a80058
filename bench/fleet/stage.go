package fleet

import "errors"

// The stages of a cell at which the shares of a fleet wait for each other. Cell 0 is the run.
const (
	RootMade = "root"    // the root exists
	Made     = "made"    // the objects exist
	Ready    = "ready"   // all sessions are connected: the load starts
	Warm     = "warm"    // in a closed loop: every session has had its first operation
	Drained  = "drained" // nobody holds anything
	Seen     = "seen"    // the lowest share has looked at what the open sessions leave
	Closed   = "closed"  // all sessions are closed
)

// ExitCode returns the exit code of a run that err has cut short; some reports whether any cell was finished.
func ExitCode(err error, some bool) int {
	switch {
	case errors.Is(err, ErrInterrupted):
		return 130
	case (errors.Is(err, ErrLost) || errors.Is(err, ErrCoordinator)) && some:
		return 5
	}
	return 1
}
