package recipes

import (
	"context"
	"errors"
	"fmt"
	"time"
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
	// anew. It is 0 of an item that was just put, when the engine's create does not tell it.
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

// Poll is Take with an end to its patience: ErrEmpty when no item came in time.
func Poll(ctx context.Context, q Queue, patience time.Duration) (Item, error) {
	brief, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	it, err := q.Take(brief)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && !errors.Is(err, ErrInDoubt) {
		return Item{}, ErrEmpty
	}
	return it, err
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

// InDoubtError is an ErrInDoubt that carries the item, because whoever has to find out needs it.
type InDoubtError struct {
	Item  Item
	Cause error
}

func (e *InDoubtError) Error() string { return fmt.Sprintf("%v: %v", ErrInDoubt, e.Cause) }

// Unwrap returns ErrInDoubt and the cause.
func (e *InDoubtError) Unwrap() []error { return []error{ErrInDoubt, e.Cause} }

// itemNames is how the children of a queue are called: what stands before the number that the server appends.
type itemNames struct {
	prefix func(Item) string
	// parse reads a name; ok is false for a child that is no item.
	parse func(name string) (at rank, ok bool)
}

// rank is an item's place in the order of its queue.
type rank struct {
	due      int64 // in milliseconds since 1970
	priority int32
	seq      int32
}

// before is the order of ranks: what is due earlier, the better priority, then the earlier.
func (r rank) before(other rank) bool {
	if r.due != other.due {
		return r.due < other.due
	}
	if r.priority != other.priority {
		return r.priority < other.priority
	}
	return before(r.seq, other.seq)
}

const (
	fifoPrefix     = "qn-"
	priorityPrefix = "queue-"
	claimPrefix    = "entry-"
	// kazooPriority is the priority that kazoo's queues give to an item of which nothing is said.
	kazooPriority = "100-"
)

// fifoNames are those of ZooKeeper's queue recipe and of Apache Curator's SimpleDistributedQueue, which ignore all other names.
var fifoNames = itemNames{
	prefix: func(Item) string { return fifoPrefix },
	parse:  func(name string) (rank, bool) { return suffixed(name, fifoPrefix) },
}

// priorityNames are those of Apache Curator's DistributedPriorityQueue: a digit for the sign, then the priority as eight hexadecimal
// digits. A priority of free width, as the recipe page's 'queue-YY' has it, neither sorts nor parses: 'queue-1' with the number
// 0000000012 is 'queue-10' with 000000012.
var priorityNames = itemNames{
	prefix: func(it Item) string {
		sign := 1
		if it.Priority < 0 {
			sign = 0
		}
		return fmt.Sprintf("%s%d%08X", priorityPrefix, sign, uint32(it.Priority))
	},
	parse: func(name string) (rank, bool) {
		const width = len(priorityPrefix) + 9
		if len(name) < width || name[:len(priorityPrefix)] != priorityPrefix {
			return rank{}, false
		}
		r, ok := suffixed(name, name[:width])
		bits, hex := hexadecimal(name[width-8 : width])
		r.priority = int32(uint32(bits))
		sign := byte('1')
		if r.priority < 0 {
			sign = '0'
		}
		return r, ok && hex && name[len(priorityPrefix)] == sign
	},
}

// claimNames are those of kazoo's LockingQueue: three digits of priority, the smallest first.
var claimNames = itemNames{
	prefix: func(Item) string { return claimPrefix + kazooPriority },
	parse: func(name string) (rank, bool) {
		const width = len(claimPrefix) + len(kazooPriority)
		if len(name) < width || name[:len(claimPrefix)] != claimPrefix || name[width-1] != '-' {
			return rank{}, false
		}
		r, ok := suffixed(name, name[:width])
		for _, c := range []byte(name[len(claimPrefix) : width-1]) {
			ok = ok && '0' <= c && c <= '9'
			r.priority = 10*r.priority + int32(c-'0')
		}
		return r, ok
	},
}

// suffixed takes the number off a name that is nothing but prefix and number.
func suffixed(name, prefix string) (rank, bool) {
	if len(name) < len(prefix)+digits || len(name) > len(prefix)+digits+1 || name[:len(prefix)] != prefix {
		return rank{}, false
	}
	seq, ok := parse(name, []string{prefix})
	return rank{seq: seq}, ok
}

// hexadecimal reads upper-case digits.
func hexadecimal(s string) (n uint64, ok bool) {
	for _, c := range []byte(s) {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | uint64(c-'0')
		case 'A' <= c && c <= 'F':
			n = n<<4 | uint64(c-'A'+10)
		default:
			return 0, false
		}
	}
	return n, true
}
