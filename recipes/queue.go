package recipes

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The choices of Options.List.
const (
	ListFresh   = "fresh"   // a list for each item: an item that comes late is seen, and n items cost n*n/2 names
	ListCached  = "cached"  // one list is worked off before the next
	ListWatched = "watched" // one list is worked off until a watch says that it has changed
	ListSynced  = "synced"  // as fresh, with a sync before it, so that nothing that was acknowledged is missed
)

// Item is what goes through a queue.
type Item struct {
	Data []byte
	// Priority orders the items of a priority queue, the smallest first; other queues ignore it.
	Priority int32
	// Due is from when on a delay queue delivers the item, rounded up to a millisecond; the earlier come first, and the zero time is the
	// earliest. Other queues ignore it.
	Due time.Time
	// Path is the item's znode. It is "" after an exact Put that succeeded though its reply was lost.
	Path string
	// Czxid is the transaction that put the item, by which the items of one queue are ordered even when the directory was made
	// again. It is 0 of an item that was just put, when the engine's create does not tell it.
	Czxid int64
	// AsOf, of an item that was taken, is how recent the list was that it was chosen from: all items that were put by this
	// transaction and not taken were in it.
	AsOf int64
}

// Queue is one client's handle on one queue. A handle is used by one goroutine at a time. The verbs are those of ZooKeeper's queue
// recipe (zookeeper-recipes-queue, DistributedQueue), and Put and Take those that wait.
type Queue interface {
	// Put puts an item; in a bounded queue it waits for room. The error is an *InDoubtError when nothing tells whether the item is
	// in the queue, and after every other error it is not.
	Put(ctx context.Context, it Item) (Item, error)
	// Offer is Put that does not wait: ErrFull when a bounded queue has no room.
	Offer(ctx context.Context, it Item) (Item, error)
	// Element reads the item at the head and leaves it there. ErrEmpty when there is none.
	Element(ctx context.Context) (Item, error)
	// Remove takes the item at the head. ErrEmpty when there is none. The error is an *InDoubtError when nothing tells whether
	// this call or another consumer removed the item; after every other error none was removed.
	Remove(ctx context.Context) (Item, error)
	// Take is Remove that waits for an item.
	Take(ctx context.Context) (Item, error)
}

// Claim is an item that a consumer has until it finishes or releases it, or its session ends.
type Claim struct {
	Item
	Znode string // that says whose the item is
	// Token grows with every later claim of the same item, so it can fence what the consumer does: the czxid of Znode.
	Token int64
	// Lost is closed when the claim can no longer be relied on: the item may be delivered to somebody else.
	Lost <-chan struct{}
}

// Claimer is a Queue whose items can be processed before they are removed: each is delivered until somebody finishes it.
type Claimer interface {
	Queue
	// Claim waits for an item that nobody has claimed, and claims it. After an error nothing is claimed.
	Claim(ctx context.Context) (Claim, error)
	// Finish removes the item for good, in one transaction with its claim. ErrClaimLost: the claim is gone, with the session or
	// deleted by somebody, and the item will be delivered again, or has been. The error is an *InDoubtError when nothing tells.
	// ErrNotHeld: the handle has no such claim. In every case the claim is over; an item that was not finished is delivered again.
	Finish(ctx context.Context, c Claim) error
	// Release gives the item back: it is delivered again at once. ErrClaimLost and ErrNotHeld as for Finish.
	Release(ctx context.Context, c Claim) error
}

// Errors of queues.
var (
	// ErrEmpty: there is no item.
	ErrEmpty = errors.New("the queue is empty")
	// ErrFull: a bounded queue has no room.
	ErrFull = errors.New("the queue is full")
	// ErrInDoubt: a reply was lost and nothing tells whether the item was put, or who removed it.
	ErrInDoubt = errors.New("in doubt")
	// ErrClaimLost: the claim was gone before its item was finished: the item is delivered again.
	ErrClaimLost = errors.New("the claim was lost before the item was finished")
)

// InDoubtError is an ErrInDoubt that carries the item, which the caller needs to find out what happened to it.
type InDoubtError struct {
	Item  Item
	Cause error
}

func (e *InDoubtError) Error() string { return fmt.Sprintf("%v: %v", ErrInDoubt, e.Cause) }

// Unwrap returns ErrInDoubt and the cause.
func (e *InDoubtError) Unwrap() []error { return []error{ErrInDoubt, e.Cause} }
