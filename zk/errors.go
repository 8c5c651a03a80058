package zk

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Definite refusals: the server checked the request and refused it. It was not applied, unless an earlier attempt of the same request was: after
// retrying an ErrMaybeApplied, ErrNodeExists, ErrNoNode and ErrBadVersion may be the result of the caller's own earlier success.
var (
	ErrNoNode                  = errors.New("no such znode")
	ErrNodeExists              = errors.New("znode exists")
	ErrBadVersion              = errors.New("version does not match")
	ErrNotEmpty                = errors.New("znode has children")
	ErrNoAuth                  = errors.New("not authorized by the znode's ACL")
	ErrInvalidACL              = errors.New("invalid ACL")
	ErrNoChildrenForEphemerals = errors.New("an ephemeral znode cannot have children")
	ErrQuota                   = errors.New("quota exceeded")
	ErrBadArguments            = errors.New("the server rejects the request as malformed")
	ErrUnimplemented           = errors.New("the server does not know this request")
	ErrReadOnly                = errors.New("the server is read-only")
	ErrNoWatcher               = errors.New("no such watch")
	ErrRolledBack              = errors.New("not applied because another operation of the multi failed")
	// ErrFailed is an answer with an error code that has no sentinel; the error states the number. ZooKeeper servers give it, with the code -5, to a
	// request that they cannot read, for example because it is newer than they are.
	ErrFailed = errors.New("the server cannot process the request")
)

// The errors of the other classes.
var (
	// ErrMaybeApplied: the request was sent and its reply was lost; it may have been carried out or not.
	ErrMaybeApplied = errors.New("reply lost, the operation may have been applied")
	// ErrNotSent: the request never left this process.
	ErrNotSent = errors.New("not sent, no server is connected")
	// ErrSessionExpired: the session has ended on the servers; its ephemerals and watches are gone.
	ErrSessionExpired = errors.New("session expired")
	// ErrThrottled: the server refuses requests for now because it has too many.
	ErrThrottled = errors.New("throttled by the server")
	// ErrClosed: Close was called on the session.
	ErrClosed = errors.New("session closed")
	// ErrAuthFailed: the server refused the credentials and closes the session.
	ErrAuthFailed = errors.New("authentication failed")
	// ErrAuthRequired: the server carries out nothing, not even pings, before the session has authenticated, and closes it.
	ErrAuthRequired = errors.New("the server requires authentication")
	// ErrWatchLost: the watch is gone though the session is alive.
	ErrWatchLost = errors.New("watch lost")
)

// Class sorts errors by what a recipe may do next.
type Class int

// The classes of errors.
const (
	ClassOK           Class = iota // no error
	ClassDefiniteNo                // act on it
	ClassMaybeApplied              // find out before retrying a write that is not idempotent
	ClassNotSent                   // try again
	ClassSessionGone               // ephemerals and watches are gone
	ClassThrottled                 // wait, then try again
	ClassTerminal                  // closed or refused: return
	ClassCanceled                  // the caller's context ended, and nothing was sent or it was a read
)

func (c Class) String() string {
	return [...]string{"ok", "definite no", "maybe applied", "not sent", "session gone", "throttled", "terminal", "canceled"}[c]
}

// Classify returns the class of err. An error that is both ErrMaybeApplied and the end of a context is ClassMaybeApplied. So is an error of an
// unknown kind, which is the safe choice.
func Classify(err error) Class {
	switch {
	case err == nil:
		return ClassOK
	case errors.Is(err, ErrSessionExpired):
		return ClassSessionGone
	case errors.Is(err, ErrClosed), errors.Is(err, ErrAuthFailed), errors.Is(err, ErrAuthRequired), errors.Is(err, ErrNoAnswer):
		return ClassTerminal
	case errors.Is(err, ErrMaybeApplied):
		return ClassMaybeApplied
	case errors.Is(err, ErrNotSent):
		return ClassNotSent
	case errors.Is(err, ErrThrottled):
		return ClassThrottled
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ClassCanceled
	}
	for _, no := range definiteNoes {
		if errors.Is(err, no) {
			return ClassDefiniteNo
		}
	}
	return ClassMaybeApplied
}

var definiteNoes = []error{ErrNoNode, ErrNodeExists, ErrBadVersion, ErrNotEmpty, ErrNoAuth, ErrInvalidACL,
	ErrNoChildrenForEphemerals, ErrQuota, ErrBadArguments, ErrUnimplemented, ErrReadOnly, ErrNoWatcher, ErrRolledBack, ErrFailed, ErrOutside}

// Refused reports whether the servers refused a request for a reason outside the recipe: the session's identity, a quota, their load, or a request that
// they cannot read. A path that no znode can have is a mistake of the recipe instead.
func Refused(err error) bool {
	var e *Error
	if errors.As(err, &e) && e.Op != KindMulti && CheckPath(e.Path) != nil {
		return false
	}
	return slices.ContainsFunc([]error{ErrNoAuth, ErrInvalidACL, ErrQuota, ErrBadArguments, ErrUnimplemented, ErrReadOnly, ErrThrottled, ErrFailed, ErrAuthFailed, ErrAuthRequired},
		func(why error) bool { return errors.Is(err, why) })
}

// FromCode converts an error code of the wire protocol to its sentinel, nil for 0. Connection loss (-4), operation timeout (-7) and session moved (-118)
// leave the outcome open and become ErrMaybeApplied. Every other code without a sentinel is ErrFailed: servers log a transaction that failed as an error
// transaction, which changes nothing. Both errors state the number.
func FromCode(code int32) error {
	if code == 0 {
		return nil
	}
	if err, ok := byCode[code]; ok {
		return err
	}
	if slices.Contains([]int32{-4, -7, -118}, code) {
		return fmt.Errorf("server error %d: %w", code, ErrMaybeApplied)
	}
	return fmt.Errorf("%w (error %d)", ErrFailed, code)
}

var byCode = map[int32]error{
	-2: ErrRolledBack, -6: ErrUnimplemented, -8: ErrBadArguments, -101: ErrNoNode, -102: ErrNoAuth, -103: ErrBadVersion,
	-108: ErrNoChildrenForEphemerals, -110: ErrNodeExists, -111: ErrNotEmpty, -112: ErrSessionExpired, -114: ErrInvalidACL,
	-115: ErrAuthFailed, -119: ErrReadOnly, -121: ErrNoWatcher, -124: ErrAuthRequired, -125: ErrQuota, -127: ErrThrottled,
}

// Error adds the operation and path that were attempted. errors.Is looks through it.
type Error struct {
	Op   Kind
	Path string
	Err  error
}

func (e *Error) Error() string { return e.Op.String() + " " + e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Abandoned returns the error of a request that was sent and whose caller's context ended before the reply: it is both the cause and ErrMaybeApplied.
func Abandoned(cause error) error { return abandoned{cause} }

type abandoned struct{ cause error }

func (a abandoned) Error() string   { return a.cause.Error() + ", " + ErrMaybeApplied.Error() }
func (a abandoned) Unwrap() []error { return []error{a.cause, ErrMaybeApplied} }
