package recipes

import (
	"context"
	"errors"
)

// Member is one member of a group, as a view has it.
type Member struct {
	ID string
	// Data is what it joined with, and Token the czxid of its znode. Both are zero in a view of names alone, and of a member that left, or
	// joined again, between the list that is the view and the read of its data.
	Data  []byte
	Token int64
}

// View is the members that a group had at one instant.
type View struct {
	Members []Member // in the order of their ids
	Token   int64    // the last transaction that changed the group (the pzxid of its directory), by which views are ordered
}

// Group is one client's handle on a group: as a member, as an observer, or as both. A handle is used by one goroutine at a time, and no two
// handles of one session join with one id.
type Group interface {
	// Join makes this client a member until Leave, or until Grant.Lost. An id has one member: Join waits for the end of another one, also
	// of one that was this client's in an earlier session, and the error wraps ErrIDTaken when the context ends meanwhile. After any
	// error it is no member, and the znode of this call is gone, or goes as soon as the session is connected again. ErrHeld: it is a
	// member already.
	Join(ctx context.Context, id string, data []byte) (Grant, error)
	// Leave ends the membership. ErrMemberLost means that the znode was gone already. When the context ends first, the delete goes on in
	// the background, and the next Join waits for it. ErrNotHeld: it is no member.
	Leave(ctx context.Context) error
	// View reads the group, as far as the session's server knows it.
	View(ctx context.Context) (View, error)
	// Watch waits for a view that is later than the one with that token, 0 for any, and never gives an earlier one, also when the token was
	// seen in another session. What changes while nobody waits comes as one view; so its members may be those of the view before, of
	// whom some left and came back. ErrTokenUnknown: the servers know no transaction as late as the token.
	Watch(ctx context.Context, token int64) (View, error)
	// Stop takes the watch of a Watch that has returned off the servers. The handle can be used on.
	Stop()
}

// Errors of groups and settings.
var (
	// ErrIDTaken: another session is the member of that id.
	ErrIDTaken = errors.New("another session has this id")
	// ErrTokenUnknown: what was seen before is later than all that the servers know; they have lost data, or they are others.
	ErrTokenUnknown = errors.New("the servers know nothing as late as the token")
)
