package metrics

import (
	"fmt"
	"math"
	"time"
)

// Op says what a Sample measures.
type Op uint8

// The operations. The phases of an acquisition add up to its service time.
const (
	OpNone      Op = iota
	Acquire        // asking for a grant -> holding it
	Release        // Start: the release is issued, which ends the hold; End: the server has acknowledged it
	HandOff        // the previous holder issues its release -> the next waiter holds
	Enqueue        // phase: the create that takes a place in the queue; Token is its czxid, 0 if unknown
	List           // phase: from the end of the create to the watch being armed, or to the grant if there is nothing to wait for
	Wait           // phase: from the watch being armed to the event that ended the wait
	Delivery       // phase: from that event at the socket to the recipe acting on it
	Recheck        // phase: from there to the grant
	Left           // after the run: one znode path checked; OK: nothing of ours is left, Failed: something is
	TryAcquire     // asking for a grant without waiting
	ReadAcquire    // the shared side of a read/write lock
	ReadRelease
	Put
	Take
	Enter
	Leave
	Campaign
	Resign
	Propose
	Vote
	Decide
	Deliver // a notification reaches those that wait for it: Start: the write that causes it is issued, End: it has arrived
	Revoke  // asking for a grant, whose token it carries -> the grant's znode is gone
	Drain   // after the run: one permit of an object requested, with all others held; OK: it was there
	Remain  // after the run: one item that is still in a queue, Value is the item; with Value 0: the whole queue was checked
	Detect  // phase: a leader is gone -> the event that reports the next one; for a group: a member is gone -> a view without it
	Elect   // phase: from that event to leading
	Choose  // phase of a take: the list that the item was chosen from; Token is its pzxid
	Remove  // phase of a take: the request that removed the item; Token is the item's czxid
	Finish  // for a claimed item: from the end of the work on it to its removal; Token is the claim's
	Write   // the work of a grant, through a fence, with the grant's token; Value is its position in the order of writes; Lost: rejected
	Read    // a read of a register that a lock protects; Value is what was read
	Update  // a read and a write of such a register under the lock; Token is what was read, Value what was written
	Fault   // not an operation: something was broken on purpose; Start: broken, End: when its effects must have ended
	Expire  // not an operation: a session was expired on purpose; its client, which cannot know, holds nothing from Start on; it must know Value ns after End
	Bar     // for a barrier: setting it
	Unbar   // for a barrier: removing it
	Pass    // waiting at a barrier until it is gone
	Meet    // for a rendezvous: waiting until all members have arrived
	Spread  // for one round of a barrier: from the first member released to the last
	Draw    // a number drawn from a counter or a generator of IDs, in Value; Token is the transaction, if known
	Tally   // after the run: one counter read; Value is its content
	See     // waiting for a view that is newer than the last, of members or of a setting; Token is its transaction; for a setting Value identifies it
	Members // some members of such a view, as bits; Value holds 48 of them, and in the bits above these how many times 48 members precede
	Change  // a change of a setting, to Value; Token is the transaction
	Hold    // one of several locks that were acquired together: like Acquire, for the others
	Unhold  // its release
	Recall  // the decision of a transaction requested again, by a site that knew it; Value is as in a Decide
	Join    // becoming a member of a group; Token is the czxid of the znode, Value the number of the member, as in its Leave
	Late    // not an operation: from Start to End a request, the servers or this machine were late; Session: whose request, Everybody: all sessions are affected
	Down    // not an operation: a session had no connection to a server
	Bound   // not an operation: Start to End is how long a session may wait in vain while nothing was broken and nothing was late
	Idle    // phase of an attempt that was not granted: from its last request or event to when it gave up; nothing told it to check again
	// PutToTake is an item's way through a queue. Due, Start: those of its put; End: it was taken for the first time. Unfinished: it had not been taken by
	// End.
	PutToTake
	Arm // asking for a watch -> it is armed
	// Await is the wait of a watcher for one event. Start: the watch is armed, by a request that saw the state of transaction Token, or the previous event on
	// the same watch has arrived; End: the event is received, of transaction Zxid if the server reports it. Lost: the connection, the watch or the session
	// was lost instead. Timeout: the event has not come for too long, and the watch is armed again. Value is 1 if the connection broke during the wait, plus
	// twice the number of additional events that met no watch.
	Await
	FirstEvent  // for one change: from its issue to the first watcher's event
	MedianEvent // from its issue to the median watcher's event
	LastEvent   // from its issue to the last watcher's event
	// Requests of a load of plain operations. Object is the znode. Token is the transaction that a write made, or the last one that had changed what a read
	// saw: mzxid, for Children pzxid. Zxid comes from the header of the reply. Value is a VersionOf.
	GetData
	SetData
	Create // a child of Object is created; likewise for Delete
	Delete
	Exists
	Children
	Multi
	Apply // for a Multi: one more znode that it changed
	Sync
	Open // asking for a session -> it is granted; Token is its ID, Value the fingerprint of its password, 0 if unknown
	// Keep is the idle time of a session between its first requests and its end. Start: the last request known to have reached the servers was sent; Value:
	// its timeout in ns; Token: its ID. Lost: the servers expired it, and its client learned this at End.
	Keep
	Close // a session's close is issued -> it is acknowledged; Token is its ID
	// Phases of making a connection to a server, each from the end of the previous one. They are recorded only in histograms and not in the history, because
	// no check uses them.
	ConnectTCP        // until the socket is connected
	ConnectTLS        // a full TLS handshake
	ConnectTLSResumed // a TLS handshake that resumed an earlier session
	ConnectSession    // the handshake of ZooKeeper's protocol
	ConnectSASL       // until the session has authenticated itself
	// Refused is not an operation: the first request of a session that the servers refused for a reason unrelated to the recipe, such as an ACL, a quota or
	// throttling, and the first refused request that would have removed something (Value Removal).
	Refused
	ops
)

// Connects returns the phases of making a connection, in order.
func Connects() []Op {
	return []Op{ConnectTCP, ConnectTLS, ConnectTLSResumed, ConnectSession, ConnectSASL}
}

// Phase returns the name of a connection phase in a report; "" for other operations.
func (o Op) Phase() string {
	return map[Op]string{ConnectTCP: "TCP", ConnectTLS: "TLS, full handshake", ConnectTLSResumed: "TLS, resumed", ConnectSession: "session", ConnectSASL: "SASL"}[o]
}

// Writes reports whether an operation of a recipe needs a separate write, whatever the recipe.
func (o Op) Writes() bool {
	switch o {
	case Acquire, Release, ReadAcquire, ReadRelease, Put, Take, Draw, Campaign, Resign, Join, Leave, Enter, Meet, Change, Propose, Vote, Bar, Unbar:
		return true
	}
	return false
}

// Everybody as the Session of a Late means all sessions, of a Put that the item existed before the load, and of a Refused the look at what is left.
const Everybody = math.MaxUint32

// Removal as the Value of a Refused means that the request would have removed something.
const Removal = 1

// Ops is the number of operations, for tables indexed by Op.
const Ops = int(ops)

func (o Op) String() string {
	if o >= ops {
		return fmt.Sprintf("op(%d)", uint8(o))
	}
	return [...]string{"none", "acquire", "release", "hand-off", "enqueue", "list", "wait", "delivery", "re-check", "left",
		"try-acquire", "read-acquire", "read-release", "put", "take", "enter", "leave", "campaign", "resign", "propose", "vote",
		"decide", "deliver", "revoke", "drain", "remain", "detect", "elect", "choose", "remove", "finish", "write", "read", "update",
		"fault", "expire", "bar", "unbar", "pass", "meet", "spread", "draw", "tally", "see", "members", "change", "hold", "unhold", "recall", "join",
		"late", "down", "bound", "idle", "put-to-take", "arm", "await",
		"first-event", "median-event", "last-event",
		"get", "set", "create", "delete", "exists", "children", "multi", "apply", "sync",
		"open", "keep", "close",
		"connect-tcp", "connect-tls", "connect-tls-resumed", "connect-session", "connect-sasl",
		"refused"}[o]
}

// Outcome says how an operation ended. Only OK enters a histogram of successes.
type Outcome uint8

// The outcomes.
const (
	OK         Outcome = iota
	Timeout            // the deadline of the operation passed
	Lost               // the session or the grant was lost; for a Release: the loss ended the hold at Start
	Failed             // any other error
	Unfinished         // the run ended while it waited: neither a success nor an error
	InDoubt            // its reply was lost and nothing shows whether it was carried out: neither may be concluded
	outcomes
)

// Outcomes is the number of outcomes.
const Outcomes = int(outcomes)

func (o Outcome) String() string {
	if o >= outcomes {
		return fmt.Sprintf("outcome(%d)", uint8(o))
	}
	return [...]string{"ok", "timeout", "lost", "failed", "unfinished", "in doubt"}[o]
}

// unserved reports whether work was abandoned that might have been served later: the time it had taken by then is a lower bound.
func (o Outcome) unserved() bool { return o == Timeout || o == Unfinished }

// Sample is one finished operation of one session. The times are offsets from the run's Origin on one monotonic clock.
type Sample struct {
	Op              Op
	Outcome         Outcome
	Session, Object uint32 // which session, and on which lock, queue or barrier
	Token           int64  // what orders it: zxid or sequence; 0 if none
	Value           int64  // what it was about in addition to the object: an item, a round, a vote; 0 if nothing
	// Zxid is the position of a grant and of its end in the order of all transactions: for what grants, the last transaction that the session had been told
	// of; for what gives a grant up, the one that removed its znode. 0: unknown. Below 0, for a grant: unknown, but not before -Zxid, because servers before
	// 3.9 report an event without its transaction.
	Zxid            int64
	Due, Start, End time.Duration
}

// Response is End-Due: how long a user of the service would have waited.
func (s Sample) Response() time.Duration { return s.End - s.Due }

// begun reports whether abandoned work had been started: otherwise it has no service time.
func (s Sample) begun() bool { return s.End > s.Start }

// Service is End-Start: what the operation took once it was started.
func (s Sample) Service() time.Duration { return s.End - s.Start }

// Lag is Start-Due: how late the generator was, or how long the session was busy with earlier work.
func (s Sample) Lag() time.Duration { return s.Start - s.Due }

// Recorder takes samples. Record must not block; each Recorder says whether it is safe for concurrent use.
type Recorder interface {
	// Record takes one sample, and those that are parts of it or follow from it, such as the phases of an acquisition and its hand-off. If samples are filed
	// by time, the parts are filed with the whole, so the counted phases add up to the counted service times.
	Record(whole Sample, parts ...Sample)
}

// Origin is the instant from which a run's offsets count, on the monotonic clock. The zero value is the zero time. Copies share their memory, so that it is
// not cold for thousands of sessions.
type Origin struct{ t *time.Time }

// NewOrigin returns an origin at t; take t from time.Now, so that it carries the monotonic clock.
func NewOrigin(t time.Time) Origin { return Origin{&t} }

func (o Origin) instant() time.Time {
	if o.t == nil {
		return time.Time{}
	}
	return *o.t
}

// Now returns the current offset.
func (o Origin) Now() time.Duration { return time.Since(o.instant()) }

// At returns the offset of t.
func (o Origin) At(t time.Time) time.Duration { return t.Sub(o.instant()) }

// Time returns the instant of an offset.
func (o Origin) Time(d time.Duration) time.Time { return o.instant().Add(d) }
