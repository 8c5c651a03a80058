package recipes

import (
	"context"
	"errors"
)

// Member is one member of a group, as seen in a view.
type Member struct {
	ID string
	// Data is what it joined with, and Token the czxid of its znode. Both are zero in a view of names only, and for a member that left, or rejoined,
	// between the list that is the view and the read of its data.
	Data  []byte
	Token int64
}

// View is the set of members that a group had at one instant.
type View struct {
	Members []Member // in the order of their ids
	Token   int64    // the last transaction that changed the group (the pzxid of its directory), by which views are ordered
}

// Group is one client's handle on a group: as a member, as an observer, or as both. A handle must not be used concurrently, and no two handles of one
// session may join with the same id.
type Group interface {
	// Join makes this client a member until Leave, or until Grant.Lost. An id has one member: Join waits until another member with this id has left,
	// even one that was this client's in an earlier session, and the error wraps ErrIDTaken if the context ends first. After any error this client is
	// not a member, and the znode of this call is gone, or will be as soon as the session is connected again. ErrHeld: it is already a member.
	Join(ctx context.Context, id string, data []byte) (Grant, error)
	// Leave ends the membership. ErrMemberLost means that the znode was already gone. If the context ends first, the delete continues in the
	// background, and the next Join waits for it. ErrNotHeld: it is not a member.
	Leave(ctx context.Context) error
	// View reads the group, as far as the session's server knows it.
	View(ctx context.Context) (View, error)
	// Watch waits for a view later than the one with that token, 0 for any, and never returns an earlier one, even if the token was seen in another
	// session. Changes while nobody waits are combined into one view; so its members may equal those of the previous view, although some left and
	// came back. ErrTokenUnknown: the servers know no transaction as late as the token.
	Watch(ctx context.Context, token int64) (View, error)
	// Stop takes the watch of a Watch that has returned off the servers. The handle remains usable.
	Stop()
}

// Errors of groups and settings.
var (
	// ErrIDTaken: another session is the member with that id.
	ErrIDTaken = errors.New("another session has this id")
	// ErrTokenUnknown: the token is later than everything that the servers know; they have lost data, or they are different servers.
	ErrTokenUnknown = errors.New("the servers know nothing as late as the token")
)
