package recipes

import (
	"context"
	"errors"
)

// Count is what an addition to a counter has brought about.
type Count struct {
	Value    int64 // of the counter, right after the addition
	Token    int64 // the transaction of the addition, by which additions are ordered; 0 of one whose reply was lost or does not tell
	Attempts int   // writes that it took, the refused ones among them
	Promoted bool  // it was made under the lock
}

// Counter is one client's handle on a counter that many clients add to. A handle is used by one goroutine at a time.
type Counter interface {
	// Add adds to the counter, which is made when it is missing. The error is ErrInDoubt when nothing tells whether the addition
	// was made; after every other error it was not. ErrNoCounter: what is there is no counter. ErrCounterLost: the counter that this
	// handle has used is gone, and with it what was counted.
	Add(ctx context.Context, delta int64) (Count, error)
	// Value reads the counter, as far as the session's server knows it: 0 when it is missing. The errors are those of Add.
	Value(ctx context.Context) (int64, error)
}

// Errors of counters.
var (
	// ErrNoCounter: the data of the znode are not those of a counter.
	ErrNoCounter = errors.New("the znode holds no counter")
	// ErrCounterLost: the znode was deleted since the handle first saw it, and what was counted with it.
	ErrCounterLost = errors.New("the counter was deleted")
)

// IDs is one client's handle on a generator of numbers that no two clients ever get. A handle is used by one goroutine at a time.
type IDs interface {
	// Next gives a number above 0 that is greater than all that any client had been given when the call began. Numbers are left out. When
	// the context or the session ends the number of this call, if it was drawn, is lost. ErrIDsExhausted and ErrIDsRestarted: the
	// handle, and every other one, would give numbers again.
	Next(ctx context.Context) (int64, error)
}

// Errors of generators.
var (
	// ErrIDsExhausted: nearly all numbers have been given; the next would soon begin again.
	ErrIDsExhausted = errors.New("the numbers are used up")
	// ErrIDsRestarted: the znode that counts was recreated since the handle first saw it, so that the numbers begin again.
	ErrIDsRestarted = errors.New("the generator was recreated and its numbers begin again")
)
