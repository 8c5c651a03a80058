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
	ListCached  = "cached"  // one list is used up before the next
	ListWatched = "watched" // one list is used until a watch reports that it has changed
	ListSynced  = "synced"  // as fresh, with a transaction before it, so that nothing that was acknowledged is missed
)

// Item is an element of a queue.
type Item struct {
	Data []byte
	// Priority orders the items of a priority queue, the smallest first; other queues ignore it.
	Priority int32
	// Due is the time before which a delay queue does not deliver the item, rounded up to a millisecond; earlier ones come first, and the zero time
	// is the earliest. Other queues ignore it.
	Due time.Time
	// Path is the item's znode. It is "" after an exact Put that succeeded though its reply was lost.
	Path string
	// Czxid is the transaction that put the item, by which the items of one queue are ordered even if the directory was recreated. It is 0 for an
	// item that was just put, if the engine's create does not return it.
	Czxid int64
	// AsOf, for an item that was taken, says how recent the list was from which it was chosen: it contained every item put up to this transaction and not taken.
	AsOf int64
}

// Queue is one client's handle on one queue. A handle must not be used concurrently. The verbs are those of ZooKeeper's queue recipe
// (zookeeper-recipes-queue, DistributedQueue); Put and Take are the ones that wait.
type Queue interface {
	// Put puts an item; in a bounded queue it waits for room. The error is an *InDoubtError if it cannot be determined whether the item is in the
	// queue; after every other error it is not.
	Put(ctx context.Context, it Item) (Item, error)
	// Offer is Put without waiting: ErrFull if a bounded queue has no room.
	Offer(ctx context.Context, it Item) (Item, error)
	// Element reads the item at the head and leaves it there. ErrEmpty if there is none.
	Element(ctx context.Context) (Item, error)
	// Remove takes the item at the head. ErrEmpty if there is none. The error is an *InDoubtError if it cannot be determined whether this call or
	// another consumer removed the item; after every other error none was removed.
	Remove(ctx context.Context) (Item, error)
	// Take is Remove, but waits for an item.
	Take(ctx context.Context) (Item, error)
}

// Claim is an item that belongs to a consumer until it finishes or releases it, or its session ends.
type Claim struct {
	Item
	Znode string // shows which consumer has claimed the item
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
	// Finish removes the item permanently, in one transaction with its claim. ErrClaimLost: the claim is gone, with the session or deleted by
	// somebody, and the item will be delivered again, or has been. The error is an *InDoubtError if the outcome cannot be determined. ErrNotHeld: the
	// handle has no such claim. In every case the claim is over; an item that was not finished is delivered again.
	Finish(ctx context.Context, c Claim) error
	// Release gives the item back: it is delivered again immediately. ErrClaimLost and ErrNotHeld as for Finish.
	Release(ctx context.Context, c Claim) error
}

// Errors of queues.
var (
	// ErrEmpty: there is no item.
	ErrEmpty = errors.New("the queue is empty")
	// ErrFull: a bounded queue has no room.
	ErrFull = errors.New("the queue is full")
	// ErrInDoubt: a reply was lost and it cannot be determined whether the item was put, or who removed it.
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
