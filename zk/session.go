package zk

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
)

// Session is one ZooKeeper session and the unit of liveness of a simulated client. All methods are safe for concurrent use. A method that takes a
// context returns when the context ends; a write whose outcome is then unknown returns an error that is both the context's and [ErrMaybeApplied].
//
// If the context is a [Reply], it learns the zxid of the reply.
//
// While the connection is down, a call waits for it to come back, for as long as its context allows and the session lives;
// a call that had already been sent when the connection broke fails with ErrMaybeApplied. A read is sent again; it fails in the same way when one connection
// after the other breaks on it (ten, in the native engine), because servers answer some requests by closing the connection.
type Session interface {
	// ID returns the session id that the server assigned, the EphemeralOwner of the znodes that the session creates.
	ID() int64
	// Timeout returns the session timeout negotiated with the server or, if the engine cannot know it, the one requested.
	Timeout() time.Duration

	// Create creates a znode. For sequential modes Created.Path includes the number that the server appended.
	Create(ctx context.Context, path string, data []byte, mode Mode) (Created, error)
	// Delete deletes a znode if it has the given version; AnyVersion matches every version.
	Delete(ctx context.Context, path string, version int32) error
	// Set replaces the data of a znode if it has the given version; AnyVersion matches every version.
	Set(ctx context.Context, path string, data []byte, version int32) (Stat, error)

	// Get reads data and Stat. The caller owns the data.
	Get(ctx context.Context, path string) ([]byte, Stat, error)
	// Exists reads the Stat; a missing znode is (Stat{}, false, nil).
	Exists(ctx context.Context, path string) (Stat, bool, error)
	// Children lists the names of the children in no particular order, with the Stat of the parent.
	Children(ctx context.Context, path string) ([]string, Stat, error)

	// GetW is like Get, and arms a data watch atomically with the read. No watch is armed when the error is not nil.
	GetW(ctx context.Context, path string) ([]byte, Stat, *Watch, error)
	// ExistsW is like Exists, and arms a watch even if the znode is missing (it then reports the creation).
	ExistsW(ctx context.Context, path string) (Stat, bool, *Watch, error)
	// ChildrenW is like Children, and arms a child watch atomically with the read. No watch is armed when the error is not nil.
	ChildrenW(ctx context.Context, path string) ([]string, Stat, *Watch, error)

	// Multi carries out all ops or none. The results are in the order of ops. If the error is not nil, none was applied (or, with ErrMaybeApplied,
	// possibly all), and the result of the op that failed carries its error.
	Multi(ctx context.Context, ops ...Op) ([]OpResult, error)
	// Sync waits until the server of this session, if it is a follower or an observer, has caught up with the leader as of the call. A leader answers it
	// without waiting for what it has not applied itself. A read that must see every write that was acknowledged before it needs CatchUp.
	Sync(ctx context.Context, path string) error

	// Done returns a channel that is closed when the session has ended: expired, or closed with Close. Its ephemeral znodes are gone or are being
	// removed by the servers.
	Done() <-chan struct{}
	// Err returns nil while the session is alive, then ErrSessionExpired, ErrClosed, ErrAuthFailed or ErrAuthRequired.
	Err() error
	// Lease returns a channel that is closed when the session can no longer be relied on: it has ended, or nine tenths of its timeout T have passed
	// since the client sent the last request that a server has answered. Requests are those of callers, pings (one for every third of T in which
	// nothing else was sent) and the request that opens a connection; events and late replies do not extend the lease further. The server received
	// that request when it was sent or later, and expires the session T after that at the earliest. When a later request is answered, Lease returns a
	// new channel; holders of the old one have lost the lease nevertheless.
	//
	// Lease reads a clock that keeps running while the process is stopped or, on Linux, the machine is suspended: it never returns an open channel of
	// a lease that has ended, and when it returns, the channel that it returned earlier for that lease is closed too. A channel alone may close late,
	// because no timer runs in a stopped process. A caller that may have been stopped calls Lease before it relies on one; between that call and the
	// action that follows, only a fence helps.
	//
	// The tenth of T in reserve is for the holder to act in; clocks whose rates differ by one part in a thousand use a hundredth of it. The bound
	// does not cover a clock that stands still with a virtual machine, nor a server that answers without being in touch with its leader: servers tell
	// the leader about their sessions every half tick, so a server may die right after its answer, or be cut off and not have noticed yet.
	Lease() <-chan struct{}
	// Go runs f in its own goroutine, for background work such as watching what is held or a removal in doubt. f must return no later than when
	// the session ends: then Lease is closed, every watch has fired and every request fails. Close waits for it. After Close, f runs before Go
	// returns. f must not call Close.
	Go(f func())
	// Close ends the session on the server, which removes its ephemeral znodes, waits a bounded time for the server's answer, and frees all
	// goroutines and sockets; then it waits for the functions started by Go. It may be called more than once.
	Close() error
}

// AnyVersion as the version in a Delete, Set or check matches every version.
const AnyVersion int32 = -1

// Mode says how long a znode lives and whether the server appends a number to its name: the flags of a create request.
type Mode int32

// The modes, with their numbers on the wire.
const (
	Persistent           Mode = 0
	Ephemeral            Mode = 1
	PersistentSequential Mode = 2
	EphemeralSequential  Mode = 3
	Container            Mode = 4
)

// Sequential reports whether the server appends a number to the name.
func (m Mode) Sequential() bool { return m == PersistentSequential || m == EphemeralSequential }

// Ephemeral reports whether the znode is removed with its session.
func (m Mode) Ephemeral() bool { return m == Ephemeral || m == EphemeralSequential }

// Created describes a new znode.
type Created struct {
	Path string // the whole path, with the number of a sequential znode
	// Czxid is the transaction that created it: the token that orders grants. It is 0 if the engine's create request does not return it
	// (go-zookeeper/zk has no create2); [Token] then reads it.
	Czxid int64
}

// Stat is the metadata that ZooKeeper keeps for a znode.
type Stat struct {
	Czxid, Mzxid, Ctime, Mtime  int64 // times in milliseconds since 1970, by the leader's clock
	Version, Cversion, Aversion int32
	EphemeralOwner              int64 // session id, 0 for a persistent znode
	DataLength, NumChildren     int32
	Pzxid                       int64
}

// Op is one operation of a Multi; create it with CheckOp, CreateOp, SetOp or DeleteOp.
type Op struct {
	Kind    Kind
	Path    string
	Data    []byte
	Version int32
	Mode    Mode
}

// CheckOp returns an Op that makes the Multi fail unless the znode exists with the version.
func CheckOp(path string, version int32) Op {
	return Op{Kind: KindCheck, Path: path, Version: version}
}

// CreateOp returns an Op that does what Session.Create does.
func CreateOp(path string, data []byte, mode Mode) Op {
	return Op{Kind: KindCreate, Path: path, Data: data, Mode: mode}
}

// SetOp returns an Op that does what Session.Set does.
func SetOp(path string, data []byte, version int32) Op {
	return Op{Kind: KindSet, Path: path, Data: data, Version: version}
}

// DeleteOp returns an Op that does what Session.Delete does.
func DeleteOp(path string, version int32) Op {
	return Op{Kind: KindDelete, Path: path, Version: version}
}

// OpResult is the outcome of one Op.
type OpResult struct {
	Path string // of a create
	Stat Stat   // of a set; of a create if the engine learns it
	Err  error  // why this op made the Multi fail; nil for the ones that would have succeeded
}

// CatchUp makes the session's server apply everything that was acknowledged before the call, to any session, by a transaction that only checks a znode: its
// reply comes when the server has applied all transactions before it. A sync does not suffice, because the leader answers its own clients' without waiting
// for what it has not applied itself. ErrNoNode means that there is no such znode, ErrNoAuth that the session may not read it; the server has caught up
// nevertheless.
func CatchUp(ctx context.Context, s Session, path string) error {
	for try := 1; ; try++ {
		_, err := s.Multi(ctx, CheckOp(path, AnyVersion))
		if Classify(err) != ClassMaybeApplied || ctx.Err() != nil || s.Err() != nil || try == 10 { // like a read, it can be repeated
			return err
		}
		if try > 1 && sleep.For(ctx, 10*time.Millisecond<<min(try-2, 6)) != nil { // the first repeat follows immediately
			return err
		}
	}
}

// Token returns the czxid of a znode that s created, and verifies that the znode still exists and belongs to s: the fencing token of a grant. It is
// free if the create returned the czxid, and otherwise costs one read. The error is ErrNoNode if the znode is gone or belongs to another session.
func Token(ctx context.Context, s Session, c Created) (int64, error) {
	if c.Czxid != 0 {
		return c.Czxid, nil
	}
	_, st, err := s.Get(ctx, c.Path)
	if err != nil {
		return 0, err
	}
	if st.EphemeralOwner != s.ID() {
		return 0, &Error{Op: KindGet, Path: c.Path, Err: ErrNoNode}
	}
	return st.Czxid, nil
}
