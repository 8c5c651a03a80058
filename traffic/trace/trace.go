package trace

import "time"

// Header says what a trace is of.
type Header struct {
	Version int       `json:"version"` // of the format
	Maker   string    `json:"maker"`   // "zkbench record" or "zkbench trace", and the version
	Source  string    `json:"source"`  // the servers or the directory
	Start   time.Time `json:"start"`   // the time from which events count
	// Names says whether paths are those of the clients; otherwise each name in a path is replaced by one that is as long as that of a hash, except for the
	// number at the end of a sequential one.
	Names bool `json:"names"`
	// Reads says whether every read is an event. Otherwise, a trace from the files of a server, it is a number: Event.Reads.
	Reads bool `json:"reads"`
}

// Kind is the kind of an event.
type Kind uint8

// The kinds of events. Prefilled znodes come first; the others are in the order of their times.
const (
	Prefill Kind = iota // a znode that was there before: Path, Size, Mode (of an ephemeral also Session)
	Open                // a session was opened: Session, Timeout
	Resume              // a session was there before: Session, Timeout
	Close               // its client closed it
	Expire              // the servers ended it
	Request             // a request was sent: Op and the fields that it has
	Notify              // a watch event reached the session: Path, Code (type of the event)
)

// Op is the kind of a request.
type Op uint8

// The kinds of requests.
const (
	NoOp Op = iota // unknown: a request, or an operation of a Multi, of which only the Code is known, because logs do not say what failed
	Create
	Delete
	Set
	SetACL
	Check // only in a Multi
	Multi
	Get
	Exists
	Children
	GetACL
	Sync
	OtherOp // not replayed: reconfig, addWatch and others, by their number in Code of the event; counted
)

// Flags of a request.
type Flags uint8

// The flags: those of the znode that a Create makes, and Watch of a read that leaves a watch.
const (
	Ephemeral Flags = 1 << iota
	Sequential
	Container
	TTL
	Watch
	// NoVersion says that a Set, Delete or Check named no version (-1).
	NoVersion
	// UnknownVersion says that nobody knows whether it named one: logs have the version after, not the one asked for.
	UnknownVersion
)

// Event is one line of a trace. A Reader's Event is valid until the next one is read.
type Event struct {
	Kind    Kind
	At      time.Duration // since Header.Start: when the request was sent; from a log, when the leader made the transaction
	Session int           // from 0, in the order of their first events; -1: nobody's, such as a delete that the servers decided on
	Timeout time.Duration // of Open and Resume

	Op    Op
	Flags Flags
	Path  string
	// Got is the path that the servers gave a sequential znode, "" if there is none.
	Got  string
	Size int           // bytes of data: sent, or of a Get received
	TTL  time.Duration // of a Create with TTL
	// Version is the one asked for by a Set, SetACL, Delete or Check. With UnknownVersion it is the one that the znode had, -1 if the log does not say.
	Version int32
	// Code is 0 or ZooKeeper's error code (-101: no node); of a Notify the type of the event; Pending if there was no reply.
	Code int32
	Took time.Duration // from request to reply, 0 if unknown
	Ops  []Event       // of a Multi: Op, Flags, Path, Got, Size, Version, Code
	// Reads is the number of requests of unknown kind that the session sent since its event before (see Header.Reads).
	Reads int
	// Zxid is that of the reply: of a write its own, of a read that of the last write that its server had carried out; 0 if unknown.
	Zxid int64
}

// Pending is the Code of a request that got no reply.
const Pending int32 = 1
