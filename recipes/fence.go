package recipes

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// A lock on ZooKeeper is a lease: a client that is paused between checking its grant and writing may write when somebody else already holds the lock,
// and no client can rule that out by itself. The resource that is written to can. This file has three such resources: a register that compares
// tokens, a transaction that requires the holder's znode to exist, and a znode that keeps the highest token (M. Kleppmann, 'How to do distributed
// locking', 2016; C. Burrows, 'The Chubby lock service', OSDI 2006, section 2.4, sequencers).

// Errors of fences.
var (
	// ErrStale: a write with a smaller token than one seen before. Its grant has ended.
	ErrStale = errors.New("the token is older than one seen before")
	// ErrNoToken: a write with the grant of a lock that issues no tokens. No fence can tell it from a stale one.
	ErrNoToken = errors.New("the grant has no token to fence with")
	// ErrUnguarded: the next holder's znode has the same name as this holder's, so that its existence proves nothing.
	ErrUnguarded = errors.New("the holder's znode cannot be told from the next holder's: fence with the token")
)

// FencedRegister is a value in this process that holders of a lock write. It rejects tokens smaller than the highest it has seen; the same token may
// write again. The zero value is ready to use. It is safe for concurrent use.
type FencedRegister struct {
	// Unfenced accepts stale writes, and counts them, as a store without a fence does. Set it before the first use.
	Unfenced bool

	mu     sync.Mutex
	value  []byte
	writer int64 // the token of value
	seen   Seen
}

// Seen counts what a register has received.
type Seen struct {
	Highest       int64 // token
	Accepted      int   // writes, including stale ones
	StaleAccepted int   // 0 if there is a fence
	StaleRejected int
}

// Write replaces the value. ErrStale and ErrNoToken mean that it did not; an unfenced register returns neither.
func (r *FencedRegister) Write(token int64, value []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	stale := token < r.seen.Highest
	switch {
	case r.Unfenced:
	case token <= 0:
		return ErrNoToken
	case stale:
		r.seen.StaleRejected++
		return fmt.Errorf("write with token %#x after %#x: %w", token, r.seen.Highest, ErrStale)
	}
	r.seen.Accepted++
	if stale {
		r.seen.StaleAccepted++
	}
	r.seen.Highest = max(r.seen.Highest, token)
	r.value, r.writer = append([]byte(nil), value...), token
	return nil
}

// Read returns the value and the token that it was written with; nil and 0 before the first write.
func (r *FencedRegister) Read() (value []byte, token int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]byte(nil), r.value...), r.writer
}

// Seen returns what the register has received so far.
func (r *FencedRegister) Seen() Seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// Guard carries out a holder's operations as one transaction with a check that its znode exists. They are atomic with the grant: all are applied
// while the grant is valid, or none is and the error is ErrLockLost. The session may be any session of the ensemble, including the lock's own. The
// results are those of ops.
//
// It returns ErrUnguarded for single-node, whose holders all have a znode of the same path; use SetFenced there. After zk.ErrMaybeApplied the
// operations may have been applied, all or none.
func Guard(ctx context.Context, s zk.Session, g Grant, ops ...zk.Op) ([]zk.OpResult, error) {
	if !numbered(g.Path) {
		return nil, fmt.Errorf("guard %s: %w", g.Path, ErrUnguarded)
	}
	results, err := s.Multi(ctx, append([]zk.Op{zk.CheckOp(g.Path, zk.AnyVersion)}, ops...)...)
	if len(results) == 0 {
		return nil, guardError(g, err)
	}
	if errors.Is(results[0].Err, zk.ErrNoNode) { // of the check, not of an operation on a missing znode
		err = fmt.Errorf("%w: %w", ErrLockLost, err)
	}
	return results[1:], guardError(g, err)
}

// Fence is what rejects a late write.
type Fence string

// The fences.
const (
	FenceNone        Fence = ""
	FenceToken       Fence = "token"       // the resource keeps the highest token it has seen: FencedRegister, SetFenced
	FenceTransaction Fence = "transaction" // the write is atomic with a check of the holder's znode: Guard
)

// Protect writes an existing znode through the fence that the grant allows, Guard if the name of the holder's znode is unique, otherwise SetFenced,
// and returns which one. The data then consist of the token and the value, as ParseFenced reads them, so that the next holder may use the other
// fence. The errors are those of Guard and SetFenced.
func Protect(ctx context.Context, s zk.Session, g Grant, path string, value []byte) (Fence, zk.Stat, error) {
	if !numbered(g.Path) {
		st, err := SetFenced(ctx, s, path, g.Token, value)
		return FenceToken, st, err
	}
	results, err := Guard(ctx, s, g, zk.SetOp(path, fenced(g.Token, value), zk.AnyVersion))
	if err != nil {
		return FenceTransaction, zk.Stat{}, err
	}
	return FenceTransaction, results[0].Stat, nil
}

func guardError(g Grant, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("guard %s: %w", g.Path, err)
}

// numbered reports whether the server has appended a number to the name of a znode; after the wrap of its counter it has at least nine digits.
// With the guid before the number, no other znode ever has that name.
func numbered(path string) bool {
	const digits = 9
	name := path[strings.LastIndexByte(path, '/')+1:]
	return len(name) > digits && strings.Trim(name[len(name)-digits:], "0123456789") == ""
}

// SetFenced is FencedRegister.Write on an existing znode, whose data are then the token, in sixteen hexadecimal digits, and the value. All writers of
// the znode must use it; ParseFenced reads it. It compares and sets: the token is read with the version, and the write is conditional on that
// version, so it costs one read and one write, and more only while others write too. The fence closes with the first write of the next holder, not
// with its grant as Guard's does.
//
// After zk.ErrMaybeApplied the write may have been made; retrying is safe, because the same token may write again.
func SetFenced(ctx context.Context, s zk.Session, path string, token int64, value []byte) (zk.Stat, error) {
	if token <= 0 {
		return zk.Stat{}, fmt.Errorf("set %s: %w", path, ErrNoToken)
	}
	for same, last := 0, zk.AnyVersion; ; {
		data, st, err := s.Get(ctx, path)
		if err != nil {
			return zk.Stat{}, err
		}
		_, highest, err := ParseFenced(data)
		if err != nil {
			return zk.Stat{}, fmt.Errorf("set %s: %w", path, err)
		}
		if token < highest {
			return zk.Stat{}, fmt.Errorf("set %s with token %#x after %#x: %w", path, token, highest, ErrStale)
		}
		if same++; st.Version != last { // somebody wrote between the read and the write
			same, last = 0, st.Version
		}
		if same > 0 { // the server that was read lags behind
			select {
			case <-time.After(min(10*time.Millisecond<<min(same-1, 10), time.Second)):
			case <-ctx.Done():
				return zk.Stat{}, ctx.Err()
			}
		}
		st, err = s.Set(ctx, path, fenced(token, value), st.Version)
		if !errors.Is(err, zk.ErrBadVersion) {
			return st, err
		}
	}
}

// tokenWidth is the width of a token in the data of a znode.
const tokenWidth = 16

func fenced(token int64, value []byte) []byte {
	return append(fmt.Appendf(nil, "%0*x", tokenWidth, token), value...)
}

// ParseFenced splits the data of a znode that SetFenced has written; empty data mean no value and the token 0.
func ParseFenced(data []byte) (value []byte, token int64, err error) {
	if len(data) == 0 {
		return nil, 0, nil
	}
	if len(data) < tokenWidth {
		return nil, 0, errNoFence
	}
	n, err := strconv.ParseUint(string(data[:tokenWidth]), 16, 63)
	if err != nil {
		return nil, 0, errNoFence
	}
	return data[tokenWidth:], int64(n), nil
}

var errNoFence = errors.New("the data do not begin with a token")
