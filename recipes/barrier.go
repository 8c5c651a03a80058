package recipes

import (
	"context"
	"errors"
)

// Barrier is one client's handle on a barrier: while it is set nobody passes. It is level-triggered: a client that waits through a time in which
// it was removed and set again may or may not have passed. A handle may be used from many goroutines.
type Barrier interface {
	// Set sets the barrier; it is no error that it is set already. A setting whose reply was lost is made again, also if somebody has removed
	// the barrier meanwhile.
	Set(ctx context.Context) error
	// Wait returns nil when the barrier was not set at some instant since the call. Otherwise the error is the context's or the session's,
	// and nothing of the call is left on the servers.
	Wait(ctx context.Context) error
	// Remove removes the barrier. ErrNotSet means that it was not there. ErrInDoubt: a reply was lost, and the barrier that is there now may
	// be the one that was to be removed, or one that somebody has set since.
	Remove(ctx context.Context) error
}

// ErrNotSet: the removal of a barrier that is not set.
var ErrNotSet = errors.New("the barrier is not set")

// DoubleBarrier is one client's handle on a double barrier: Options.Members of them begin a computation together and end it together,
// generation after generation. A handle is used by one goroutine at a time. All clients count the generations alike, from
// Options.Generation; a client that comes back with a new session begins with the generation that it was in.
type DoubleBarrier interface {
	// Enter waits until all members of the generation are there. After a nil error this client is inside, until Leave or until its session
	// is over. After any other error it is not, and its znode is gone or goes as soon as the session is connected again:
	// ErrBarrierBroken says that the others went in and may have counted it, ErrPassed that they are out again already, and with these two
	// the handle goes on to the next generation. ErrInDoubt says that the servers could not be asked how it ended for the others. The
	// context's error alone says that nobody went in with the help of this client, and the next Enter is of the same generation.
	Enter(ctx context.Context) error
	// Leave waits until every member has left or died. ErrMemberLost, or the error of a session that is over, says that this member was out
	// before: the others may have ended without it. After any return the handle is out and its next Enter is of the next generation;
	// if the context ends first, it has left without waiting for the others.
	Leave(ctx context.Context) error
	// Generation is the number of the generation that the handle is in, or else enters next.
	Generation() int64
}

// Errors of barriers.
var (
	// ErrBarrierBroken: the wait was given up, but the barrier has opened and the others went in: they may have counted this member.
	ErrBarrierBroken = errors.New("the barrier opened for the others")
	// ErrPassed: the others have passed this generation and it is over.
	ErrPassed = errors.New("the generation is over")
	// ErrMemberLost: the znode of a member was gone before it left.
	ErrMemberLost = errors.New("the member's znode was gone before it left")
	// ErrEntered: Enter on a handle that is inside already.
	ErrEntered = errors.New("the handle is inside the barrier already")
	// ErrNotEntered: Leave on a handle that is not inside.
	ErrNotEntered = errors.New("the handle is not inside the barrier")
)

// Rendezvous is one client's handle on a rendezvous: Options.Members of them start together, generation after generation. A handle is used by
// one goroutine at a time. Generations are counted as at DoubleBarrier.
type Rendezvous interface {
	// Meet waits until all members of the generation are there; then all of them go on. Its errors are those of DoubleBarrier.Enter. After
	// any return nothing of this call is left, or goes as soon as the session is connected again.
	Meet(ctx context.Context) error
	// Generation is the number of the generation that the handle meets in next.
	Generation() int64
}
