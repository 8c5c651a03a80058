package zktest

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/internal/background"
	"github.com/zkbench/zkbench/zk/internal/lease"
)

// Session is a session with an [Ensemble]. It implements zk.Session and zk.PersistentWatcher.
type Session struct {
	ens     *Ensemble
	id      int64
	timeout time.Duration
	done    chan struct{}
	beside  background.Work

	// The rest is guarded by ens.mu. First the client's side.
	err        error
	connected  bool          // as far as the client knows
	conn       int           // counts connections
	up         chan struct{} // closed while connected
	lease      lease.Lease
	down       chan struct{} // closed while disconnected or over
	seen       int64         // the zxid of the last reply
	pending    []*request
	waiting    waiting
	travelling int
	linked     func(zk.Link, time.Time)

	// The connection; see settle.
	lanes          [2]lane
	frozen         bool
	thawed         chan struct{} // closed by the next Thaw
	arrivals       []func()      // what has come while frozen
	strained       bool
	spell          int           // counts changes, so that a late timer knows that it is late
	sent, answered time.Duration // the client's last request, ping or handshake, and its last reply
	heard          time.Duration // the last request, ping or handshake at the server

	// The server's side.
	removed  bool          // closed or expired: the ephemerals are gone
	armed    armed         // the watches of the connection
	arrived  chan struct{} // closed when the last request that arrived has been handled
	lag      time.Duration
	view     tree // what a lagging server knows; nil if it is up to date
	viewZxid int64
	backlog  []trigger // changes that it does not know yet
}

var (
	_ zk.Session           = (*Session)(nil)
	_ zk.PersistentWatcher = (*Session)(nil)
	_ zk.Killer            = (*Session)(nil)
)

// ID returns the session id.
func (s *Session) ID() int64 { return s.id }

// OnLink makes the session call its argument for each event of its connection; see [zk.OnLink].
func (s *Session) OnLink(notify func(zk.Link, time.Time)) {
	s.ens.mu.Lock()
	defer s.ens.mu.Unlock()
	s.linked = notify
}

// tellLink reports what happens to the connection. Called with Ensemble.mu held.
func (s *Session) tellLink(what zk.Link) {
	if s.linked != nil {
		s.linked(what, time.Now())
	}
}

// Timeout returns the session timeout.
func (s *Session) Timeout() time.Duration { return s.timeout }

// Create makes a znode.
func (s *Session) Create(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
	if err := checkCreate(path, mode); err != nil {
		return zk.Created{}, &zk.Error{Op: zk.KindCreate, Path: path, Err: err}
	}
	r, err := s.call(ctx, zk.KindCreate, path, false, zk.CreateOp(path, data, mode))
	if err != nil {
		return zk.Created{}, err
	}
	return zk.Created{Path: r.path, Czxid: r.stat.Czxid}, nil
}

// Delete removes a znode.
func (s *Session) Delete(ctx context.Context, path string, version int32) error {
	_, err := s.checked(ctx, zk.KindDelete, path, false, zk.DeleteOp(path, version))
	return err
}

// Set replaces the data of a znode.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error) {
	r, err := s.checked(ctx, zk.KindSet, path, false, zk.SetOp(path, data, version))
	return r.stat, err
}

// Get reads data and Stat.
func (s *Session) Get(ctx context.Context, path string) ([]byte, zk.Stat, error) {
	r, err := s.checked(ctx, zk.KindGet, path, false)
	return r.data, r.stat, err
}

// Exists reads the Stat.
func (s *Session) Exists(ctx context.Context, path string) (zk.Stat, bool, error) {
	r, err := s.checked(ctx, zk.KindExists, path, false)
	return r.stat, r.found, err
}

// Children lists the names of the children, here in order.
func (s *Session) Children(ctx context.Context, path string) ([]string, zk.Stat, error) {
	r, err := s.checked(ctx, zk.KindChildren, path, false)
	return r.names, r.stat, err
}

// GetW is like Get, and arms a data watch.
func (s *Session) GetW(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
	r, err := s.checked(ctx, zk.KindGet, path, true)
	return r.data, r.stat, r.watch, err
}

// ExistsW is like Exists, and arms a watch.
func (s *Session) ExistsW(ctx context.Context, path string) (zk.Stat, bool, *zk.Watch, error) {
	r, err := s.checked(ctx, zk.KindExists, path, true)
	return r.stat, r.found, r.watch, err
}

// ChildrenW is like Children, and arms a child watch.
func (s *Session) ChildrenW(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error) {
	r, err := s.checked(ctx, zk.KindChildren, path, true)
	return r.names, r.stat, r.watch, err
}

// Multi carries out all ops or none. The ops before the one that failed have no error, the ones after it ErrRolledBack.
func (s *Session) Multi(ctx context.Context, ops ...zk.Op) ([]zk.OpResult, error) {
	for _, op := range ops {
		err := checkPath(op.Path)
		if op.Kind == zk.KindCreate {
			err = checkCreate(op.Path, op.Mode)
		}
		if err != nil {
			return nil, &zk.Error{Op: zk.KindMulti, Path: op.Path, Err: err}
		}
	}
	r, err := s.call(ctx, zk.KindMulti, "", false, ops...)
	return r.results, err
}

// Sync waits until the session's server has caught up.
func (s *Session) Sync(ctx context.Context, path string) error {
	_, err := s.checked(ctx, zk.KindSync, path, false)
	return err
}

// AddWatch arms a persistent watch.
func (s *Session) AddWatch(ctx context.Context, path string, recursive bool) (*zk.Stream, error) {
	r, err := s.checked(ctx, zk.KindAddWatch, path, recursive)
	if err != nil {
		return nil, err
	}
	return r.stream.Stream, nil
}

func (s *Session) checked(ctx context.Context, kind zk.Kind, path string, watch bool, ops ...zk.Op) (result, error) {
	if err := checkPath(path); err != nil {
		return result{}, &zk.Error{Op: kind, Path: path, Err: err}
	}
	return s.call(ctx, kind, path, watch, ops...)
}

// Done returns a channel that is closed when the session has ended and its client knows.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns nil while the session is alive, then why it has ended.
func (s *Session) Err() error {
	s.ens.mu.Lock()
	defer s.ens.mu.Unlock()
	return s.err
}

// Lease returns a channel that is closed when the session can no longer be relied on.
func (s *Session) Lease() <-chan struct{} {
	s.ens.mu.Lock()
	defer s.ens.mu.Unlock()
	now := s.ens.now()
	if !s.strained {
		s.extend(now)
	}
	return s.lease.Check(now)
}

// Disconnected returns a channel that is closed while the session has no connection, and when it has ended.
func (s *Session) Disconnected() <-chan struct{} {
	s.ens.mu.Lock()
	defer s.ens.mu.Unlock()
	return s.down
}

// Crash ends the session as the death of its process would: the server expires it after its timeout.
func (s *Session) Crash() error {
	defer s.beside.Wait()
	s.ens.mu.Lock()
	defer s.ens.mu.Unlock()
	s.ens.disconnect(s)
	s.end(zk.ErrClosed)
	return nil
}

// Expire ends the session on the servers; its client learns of it when the servers can reach it.
func (s *Session) Expire(context.Context) error {
	s.ens.Expire(s)
	return nil
}

// Go runs f in the background; Close waits for it to return.
func (s *Session) Go(f func()) { s.beside.Go(f) }

// Close ends the session. If its client is disconnected, the server is not told and expires the session after its timeout: the error is zk.ErrMaybeApplied.
func (s *Session) Close() error {
	defer s.beside.Wait()
	s.ens.mu.Lock()
	if s.err != nil {
		s.ens.mu.Unlock()
		return nil
	}
	latency := s.ens.cfg.OpLatency
	if !s.open(ToServer, s.conn) || !s.open(ToClient, s.conn) {
		latency = 0
	}
	left := make(chan struct{})
	leave := func() {
		if s.open(ToServer, s.conn) {
			s.ens.removeSession(s)
		}
		close(left)
	}
	if due := s.lanes[ToServer].due(latency / 2); due > 0 {
		s.ens.after(due, leave)
	} else {
		leave()
	}
	s.end(zk.ErrClosed)
	s.ens.mu.Unlock()
	<-left
	time.Sleep(latency - latency/2)
	s.ens.mu.Lock()
	defer s.ens.mu.Unlock()
	if !s.removed {
		return fmt.Errorf("zktest: close session 0x%x: %w", s.id, zk.ErrMaybeApplied)
	}
	return nil
}

// end tells the client that its session has ended.
func (s *Session) end(err error) {
	if s.err != nil {
		return
	}
	s.err = err
	if s.connected {
		close(s.down)
	}
	close(s.done)
	s.lease.End()
	s.failPending(err)
	s.waiting.lose(err, err)
}
