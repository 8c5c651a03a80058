package drivers

import "slices"

// Protocol is the version of what is said between zkbench and a driver.
const Protocol = 1

// The operations of requests.
const (
	OpHello   = "hello"   // who are you, and what does your clock say
	OpOpen    = "open"    // open a session
	OpAcquire = "acquire" // wait for a lock, to read or to write under one, or for a permit
	OpTry     = "try"     // take a lock if it is free
	OpRelease = "release" // give a lock up
	OpPut     = "put"     // put an item into a queue
	OpTake    = "take"    // wait for an item of a queue and take it
	OpFinish  = "finish"  // remove an item for good that a take has claimed
	OpCancel  = "cancel"  // end the wait of another request; it has no reply of its own
	OpClose   = "close"   // end a session
)

// The errors of replies.
const (
	ErrorTimeout     = "timeout"     // the deadline of the request passed; nothing is held, put or taken
	ErrorCanceled    = "canceled"    // the request was canceled; nothing is held, put or taken
	ErrorHeld        = "held"        // of a try: it is not free
	ErrorNotHeld     = "not-held"    // of a release or a finish: the session does not hold it, or does not any more
	ErrorLost        = "lost"        // the session is over
	ErrorFailed      = "failed"      // anything else; the message says what. A put, take or finish that lost its session or failed may have been carried out
	ErrorUnsupported = "unsupported" // the driver does not know the operation
)

// The events, which a driver sends by itself.
const (
	EventSuspended = "suspended" // what the session holds cannot be relied on at the moment
	EventConnected = "connected" // it can again
	EventLost      = "lost"      // the session is over
)

// What a driver says that it can do, beside holding sessions.
const (
	CanLock      = "lock"       // acquire and release
	CanReadWrite = "read-write" // acquire and release with a mode
	CanSemaphore = "semaphore"  // acquire and release with permits
	CanQueue     = "queue"      // put and take, and finish if its takes claim
	CanTry       = "try"        // of whatever it can acquire
)

// whole is what makes a program a driver: one of them at least.
var whole = []string{CanLock, CanReadWrite, CanSemaphore, CanQueue}

// The modes of a read/write lock.
const (
	ModeRead  = "read"  // beside other readers
	ModeWrite = "write" // alone
)

// ZooKeeper is the store of a driver whose locks are znodes below the path of a request.
const ZooKeeper = "zookeeper"

// Request is a line to a driver.
type Request struct {
	ID         int64  `json:"id"`
	Op         string `json:"op"`
	Protocol   int    `json:"protocol,omitempty"`    // of hello
	Session    int64  `json:"session,omitempty"`     // of all but hello and cancel: a number that zkbench gives
	Servers    string `json:"servers,omitempty"`     // of open: host:port, separated by commas
	TimeoutMS  int64  `json:"timeout_ms,omitempty"`  // of open: the session timeout to ask for
	Path       string `json:"path,omitempty"`        // of acquire, try and release: the lock; of put, take and finish: the queue
	Mode       string `json:"mode,omitempty"`        // of acquire, try and release: to read or to write under a read/write lock; "": the lock excludes everybody
	Permits    int    `json:"permits,omitempty"`     // of the same: how many permits the semaphore has, of which it is about one; 0: it is about a lock
	Item       []byte `json:"item,omitempty"`        // of put: base64 in JSON
	DeadlineMS int64  `json:"deadline_ms,omitempty"` // of acquire, put and take: how long to wait at most; 0: until canceled
	Of         int64  `json:"of,omitempty"`          // of cancel: the id of the request
}

// Reply is a line of a driver: the answer to the request of its id, or an event.
type Reply struct {
	ID      int64  `json:"id,omitempty"`
	Event   string `json:"event,omitempty"`
	Session int64  `json:"session,omitempty"` // of an event
	Error   string `json:"error,omitempty"`   // "": it was carried out
	Message string `json:"message,omitempty"` // of an error, for a person
	Start   int64  `json:"start,omitempty"`   // when the library was called, in nanoseconds of the driver's clock
	End     int64  `json:"end,omitempty"`     // when it returned
	Token   int64  `json:"token,omitempty"`   // of a grant: grows with every later grant of the lock, or of an item's claims with every later one; 0: there is none
	Node    string `json:"node,omitempty"`    // of a grant or an item: its znode or key
	Item    []byte `json:"item,omitempty"`    // of take: what was taken, as it was put
	ZK      int64  `json:"zk,omitempty"`      // of open: the number of the ZooKeeper session; 0: not known
	Hello
}

// Hello is what a driver says of itself.
type Hello struct {
	Protocol int      `json:"protocol,omitempty"`
	Name     string   `json:"name,omitempty"`    // of the library: kazoo
	Version  string   `json:"version,omitempty"` // of the library
	Can      []string `json:"can,omitempty"`
	Store    string   `json:"store,omitempty"` // where its locks are: zookeeper, or another word
	Tokens   bool     `json:"tokens,omitempty"`
	Claims   bool     `json:"claims,omitempty"`  // of queues: a take claims an item, which is there again when its session ends before the finish
	FIFO     bool     `json:"fifo,omitempty"`    // of queues: items are taken in the order in which they were put
	Servers  int      `json:"servers,omitempty"` // of a store that zkbench starts: how many it wants; 0 is 1
	Now      int64    `json:"now,omitempty"`     // its clock, in nanoseconds
}

// Knows tells whether the driver can do something.
func (h Hello) Knows(what string) bool { return slices.Contains(h.Can, what) }
