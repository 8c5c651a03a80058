package drivers

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/zk"
)

// Protocol is the version of the protocol between zkbench and a driver.
const Protocol = 1

// The operations of requests.
const (
	OpHello   = "hello"   // identify yourself and report your clock
	OpOpen    = "open"    // open a session
	OpAcquire = "acquire" // wait for a lock, to read or to write under a lock, or for a permit
	OpTry     = "try"     // take a lock if it is free
	OpRelease = "release" // release a lock
	OpPut     = "put"     // put an item into a queue
	OpTake    = "take"    // wait for an item of a queue and take it
	OpFinish  = "finish"  // permanently remove an item that a take has claimed
	OpCancel  = "cancel"  // end the wait of another request; it has no reply
	OpClose   = "close"   // end a session
)

// The errors of replies.
const (
	ErrorTimeout     = "timeout"     // the deadline of the request passed; nothing is held, put or taken
	ErrorCanceled    = "canceled"    // the request was canceled; nothing is held, put or taken
	ErrorHeld        = "held"        // for a try: it is not free
	ErrorNotHeld     = "not-held"    // for a release or a finish: the session does not hold it, or no longer does
	ErrorLost        = "lost"        // the session is over
	ErrorFailed      = "failed"      // anything else; the message says what. A put, take or finish that lost its session or failed may have been carried out
	ErrorUnsupported = "unsupported" // the driver does not know the operation
)

// The events, which a driver sends unasked.
const (
	EventSuspended = "suspended" // what the session holds is currently unreliable
	EventConnected = "connected" // it is reliable again
	EventLost      = "lost"      // the session is over
)

// What a driver says it can do, apart from holding sessions.
const (
	CanLock      = "lock"       // acquire and release
	CanReadWrite = "read-write" // acquire and release with a mode
	CanSemaphore = "semaphore"  // acquire and release with permits
	CanQueue     = "queue"      // put and take, and finish if its takes claim
	CanTry       = "try"        // for whatever it can acquire
)

// whole lists the abilities of which a driver needs at least one.
var whole = []string{CanLock, CanReadWrite, CanSemaphore, CanQueue}

// The modes of a read/write lock.
const (
	ModeRead  = "read"  // shared with other readers
	ModeWrite = "write" // exclusive
)

// ZooKeeper is the store of a driver whose locks are znodes below the path of a request.
const ZooKeeper = "zookeeper"

// Request is a line sent to a driver.
type Request struct {
	ID         int64  `json:"id"`
	Op         string `json:"op"`
	Protocol   int    `json:"protocol,omitempty"`    // for hello
	Session    int64  `json:"session,omitempty"`     // for all but hello and cancel: a number that zkbench assigns
	Servers    string `json:"servers,omitempty"`     // for open: host:port, comma-separated
	TimeoutMS  int64  `json:"timeout_ms,omitempty"`  // for open: the session timeout to ask for
	Path       string `json:"path,omitempty"`        // for acquire, try and release: the lock; for put, take and finish: the queue
	Mode       string `json:"mode,omitempty"`        // for acquire, try and release: to read or to write under a read/write lock; "": the lock is exclusive
	Permits    int    `json:"permits,omitempty"`     // for the same: the number of permits of the semaphore, of which the request concerns one; 0: it concerns a lock
	Item       []byte `json:"item,omitempty"`        // for put: base64 in JSON
	DeadlineMS int64  `json:"deadline_ms,omitempty"` // for acquire, put and take: the maximum wait; 0: until canceled
	Of         int64  `json:"of,omitempty"`          // for cancel: the id of the request
}

// Reply is a line from a driver: the reply to the request with its id, or an event.
type Reply struct {
	ID      int64  `json:"id,omitempty"`
	Event   string `json:"event,omitempty"`
	Session int64  `json:"session,omitempty"` // for an event
	Error   string `json:"error,omitempty"`   // "" means success
	Message string `json:"message,omitempty"` // explains an error to a person
	Start   int64  `json:"start,omitempty"`   // when the library was called, in nanoseconds of the driver's clock
	End     int64  `json:"end,omitempty"`     // when it returned
	Token   int64  `json:"token,omitempty"`   // for a grant: grows with every later grant of the lock, or with every later claim of an item; 0: there is none
	Node    string `json:"node,omitempty"`    // for a grant or an item: its znode or key
	Item    []byte `json:"item,omitempty"`    // for take: the item, as it was put
	ZK      int64  `json:"zk,omitempty"`      // for open: the number of the ZooKeeper session; 0: unknown
	Hello
}

// Hello is a driver's description of itself.
type Hello struct {
	Protocol int      `json:"protocol,omitempty"`
	Name     string   `json:"name,omitempty"`    // of the library: kazoo
	Version  string   `json:"version,omitempty"` // of the library
	Can      []string `json:"can,omitempty"`
	Store    string   `json:"store,omitempty"` // where its locks are: zookeeper, or another word
	Tokens   bool     `json:"tokens,omitempty"`
	Claims   bool     `json:"claims,omitempty"`  // for queues: a take claims an item, which becomes available again if its session ends before the finish
	FIFO     bool     `json:"fifo,omitempty"`    // for queues: items are taken in the order in which they were put
	Needs    []string `json:"needs,omitempty"`   // what the servers of ZooKeeper must be able to do, as in zk.PowerOf: create2
	Servers  int      `json:"servers,omitempty"` // for a store that zkbench starts: how many servers it needs; 0 means 1
	Now      int64    `json:"now,omitempty"`     // its clock, in nanoseconds
}

// Powers returns what the servers of ZooKeeper must be able to do.
func (h Hello) Powers() (all []zk.Need, err error) {
	for _, name := range h.Needs {
		power, found := zk.PowerOf(name)
		if !found {
			return nil, fmt.Errorf("%w: its hello needs %q, which zkbench does not know (expected a request, such as create2 or addWatch)", ErrProtocol, name)
		}
		all = append(all, zk.Need{Power: power})
	}
	return all, nil
}

// Knows reports whether the driver has an ability.
func (h Hello) Knows(what string) bool { return slices.Contains(h.Can, what) }
