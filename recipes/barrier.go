package recipes

import (
	"context"
	"errors"
)

// Barrier is one client's handle on a barrier: while the barrier is set, nobody passes. It is level-triggered: if the barrier is removed and set
// again while a client waits, the client may or may not have passed. A handle is safe for concurrent use.
type Barrier interface {
	// Set sets the barrier; if it is already set, that is not an error. A Set whose reply was lost is retried, even if somebody has removed the barrier in the meantime.
	Set(ctx context.Context) error
	// Wait returns nil if the barrier was not set at some instant since the call. Otherwise the error is the context's or the session's, and the call
	// leaves nothing on the servers.
	Wait(ctx context.Context) error
	// Remove removes the barrier. ErrNotSet means that there was none. ErrInDoubt means that a reply was lost, and the existing barrier may be the
	// one that was to be removed, or one that somebody has set since.
	Remove(ctx context.Context) error
}

// ErrNotSet: Remove on a barrier that is not set.
var ErrNotSet = errors.New("the barrier is not set")

// DoubleBarrier is one client's handle on a double barrier: Options.Members of them start a computation together and end it together, generation
// after generation. A handle must not be used concurrently. All clients number the generations from Options.Generation; a client that returns with a
// new session starts with the generation that it was in.
type DoubleBarrier interface {
	// Enter waits until all members of the generation have arrived. After a nil error this client is inside, until Leave or the end of its session.
	// After any other error it is not, and its znode is gone or will be as soon as the session is connected again. ErrBarrierBroken means that the
	// others went in and may have counted this client; ErrPassed, that they have left again already; after either, the handle advances to the next
	// generation. ErrInDoubt means that the servers could not be asked how it ended for the others. The context's error alone means that nobody went
	// in by counting this client, and the next Enter is for the same generation.
	Enter(ctx context.Context) error
	// Leave waits until every member has left or died. ErrMemberLost, or the error of a session that has ended, means that this member had dropped
	// out before: the others may have finished without it. After any return the handle is outside and its next Enter is for the next generation;
	// if the context ends first, the member has left without waiting for the others.
	Leave(ctx context.Context) error
	// Generation returns the number of the generation that the handle is in or, if it is outside, enters next.
	Generation() int64
}

// Errors of barriers.
var (
	// ErrBarrierBroken: the wait was abandoned, but the barrier has opened and the others went in: they may have counted this member.
	ErrBarrierBroken = errors.New("the barrier opened for the others")
	// ErrPassed: the others have passed this generation and it is over.
	ErrPassed = errors.New("the generation is over")
	// ErrMemberLost: the znode of a member was gone before it left.
	ErrMemberLost = errors.New("the member's znode was gone before it left")
	// ErrEntered: Enter on a handle that is already inside.
	ErrEntered = errors.New("the handle is inside the barrier already")
	// ErrNotEntered: Leave on a handle that is not inside.
	ErrNotEntered = errors.New("the handle is not inside the barrier")
)

// Rendezvous is one client's handle on a rendezvous: Options.Members of them start together, generation after generation. A handle must not be used
// concurrently. Generations are numbered as for DoubleBarrier.
type Rendezvous interface {
	// Meet waits until all members of the generation have arrived; then all of them continue. Its errors are those of DoubleBarrier.Enter. After any
	// return nothing of this call is left, or will be gone as soon as the session is connected again.
	Meet(ctx context.Context) error
	// Generation returns the number of the generation that the handle meets in next.
	Generation() int64
}
