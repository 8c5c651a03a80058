package recipes

import (
	"context"
	"errors"
)

// Count is the result of an addition to a counter.
type Count struct {
	Value    int64 // of the counter, right after the addition
	Token    int64 // the transaction of the addition, by which additions are ordered; 0 if its reply was lost or does not contain it
	Attempts int   // number of writes that it took, including refused ones
	Promoted bool  // it was made under the lock
}

// Counter is one client's handle on a counter that many clients add to. A handle must not be used concurrently.
type Counter interface {
	// Add adds to the counter, creating it if it is missing. The error is ErrInDoubt if it cannot be determined whether the addition was made; after
	// every other error it was not. ErrNoCounter: the znode is not a counter. ErrCounterLost: the counter that this handle has used is gone, and its
	// count with it.
	Add(ctx context.Context, delta int64) (Count, error)
	// Value reads the counter, as far as the session's server knows it: 0 if it is missing. The errors are those of Add.
	Value(ctx context.Context) (int64, error)
}

// Errors of counters.
var (
	// ErrNoCounter: the data of the znode are not a counter's.
	ErrNoCounter = errors.New("the znode holds no counter")
	// ErrCounterLost: the znode was deleted since the handle first saw it, and its count with it.
	ErrCounterLost = errors.New("the counter was deleted")
)

// IDs is one client's handle on a generator of numbers that never gives two clients the same one. A handle must not be used concurrently.
type IDs interface {
	// Next returns a positive number greater than all numbers that any client had received when the call started. There may be gaps: if the context
	// or the session ends, the number of this call, if it was drawn, is lost. ErrIDsExhausted and ErrIDsRestarted: this handle, and every other one,
	// would repeat numbers.
	Next(ctx context.Context) (int64, error)
}

// Errors of generators.
var (
	// ErrIDsExhausted: nearly all numbers have been given out; the sequence would soon start again.
	ErrIDsExhausted = errors.New("the numbers are used up")
	// ErrIDsRestarted: the znode that counts was recreated since the handle first saw it, so that the numbers start again.
	ErrIDsRestarted = errors.New("the generator was recreated and its numbers begin again")
)
