package gozk

import (
	"context"
	"sync/atomic"

	"github.com/zkbench/zkbench/zk"
)

// request is what do needs to know about an operation.
type request struct {
	kind  zk.Kind
	path  string
	write bool // may change something: it is not resent
	size  int  // upper limit of its bytes on the wire
}

// overhead is an upper limit of what a frame, or an operation in a multi, takes in addition to path and data: headers, lengths, ACL.
const overhead = 128

// reply holds the results of any operation.
type reply struct {
	path    string
	data    []byte
	names   []string
	stat    zk.Stat
	found   bool
	results []zk.OpResult
	watch   *zk.Watch
	zxid    int64 // 0 if there was no reply, or if it is unknown
}

// do carries out one operation as zk.Session specifies: it waits for a connection, resends a read whose reply was lost, and returns when ctx ends. ask is the library's call.
func (s *Session) do(ctx context.Context, r request, ask func() (reply, error)) (reply, error) {
	v, err := s.attempt(ctx, r, ask)
	if err != nil {
		err = &zk.Error{Op: r.kind, Path: r.path, Err: err}
	}
	return v, err
}

func (s *Session) attempt(ctx context.Context, r request, ask func() (reply, error)) (reply, error) {
	for {
		if err := ctx.Err(); err != nil {
			return reply{}, err
		}
		if err := s.connection(ctx); err != nil {
			return reply{}, err
		}
		if s.abandoned.Load() > 0 {
			if err := s.settle(ctx); err != nil {
				return reply{}, err
			}
		}
		if size := int64(r.size); size > s.buffer.Load() {
			if err := s.grow(ctx, size); err != nil {
				return reply{}, err
			}
			continue // the connection may have broken in the meantime
		}
		v, err, left := s.call(ctx, asked{r.kind, r.path}, ask)
		if left {
			if r.write {
				err = zk.Abandoned(err)
			}
			return reply{}, err
		}
		zk.Replied(ctx, v.zxid)
		became, err := translate(err)
		switch {
		case err == zk.ErrSessionExpired:
			s.end(err)
			return v, err
		case became == answered:
			return v, err
		case became == lost && r.write:
			if over := s.Err(); over != nil {
				err = zk.Abandoned(over)
			}
			return v, err
		}
		if over := s.Err(); over != nil {
			return reply{}, over
		}
	}
}

// grow makes room for a request of size bytes: it asks for a buffer of the next power of two and makes the library write something, because the buffer
// can only be replaced then.
func (s *Session) grow(ctx context.Context, size int64) error {
	for want := int64(firstBuffer); ; want *= 2 {
		if want < size {
			continue
		}
		for old := s.wantBuffer.Load(); old < want && !s.wantBuffer.CompareAndSwap(old, want); {
			old = s.wantBuffer.Load()
		}
		break
	}
	_, err, _ := s.call(ctx, asked{zk.KindExists, "/"}, func() (reply, error) {
		s.conn.Exists("/") // the answer does not matter
		return reply{}, nil
	})
	return err
}

// call runs ask. If ctx ends first, left is true and err is the context's; ask then ends by itself, in Close at the latest.
func (s *Session) call(ctx context.Context, what asked, ask func() (reply, error)) (v reply, err error, left bool) {
	zxid := s.zxids.expect(what)
	if ctx.Done() == nil {
		v, err = ask()
		v.zxid = zxid()
		return v, err, false
	}
	c := s.spare.Swap(nil) // most sessions have one call in flight at a time
	if c == nil {
		c = &pending{done: make(chan struct{}, 1)}
	}
	go c.run(s, ask, zxid)
	select {
	case <-c.done:
		return c.take(s)
	case <-ctx.Done():
	}
	s.leave(1) // counted before run can count it down
	if c.settled.Swap(true) {
		s.leave(-1)
		<-c.done
		return c.take(s)
	}
	return reply{}, ctx.Err(), true
}

// pending is a call that may be abandoned by its caller.
type pending struct {
	done    chan struct{}
	settled atomic.Bool // by the reply or by the caller's return, whichever comes first
	v       reply
	err     error
}

func (c *pending) run(s *Session, ask func() (reply, error), zxid func() int64) {
	c.v, c.err = ask()
	c.v.zxid = zxid()
	if !c.settled.Swap(true) {
		c.done <- struct{}{}
		return
	}
	if c.v.watch != nil {
		c.v.watch.Stop()
	}
	s.leave(-1)
}

// take returns the results that run has stored, and keeps c for the next call.
func (c *pending) take(s *Session) (v reply, err error, left bool) {
	v, err = c.v, c.err
	c.v, c.err = reply{}, nil
	c.settled.Store(false)
	s.spare.Store(c)
	return v, err, false
}

// leave counts abandoned calls.
func (s *Session) leave(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.abandoned.Add(n) == 0 && s.settled != nil {
		close(s.settled)
		s.settled = nil
	}
}

// settle waits until no abandoned call is left, that is, until all have been answered: a server answers a session in order. A call made after an
// abandoned write therefore never overtakes it on the way into the library, and after a Sync the write has been applied or never will be.
func (s *Session) settle(ctx context.Context) error {
	s.mu.Lock()
	if s.abandoned.Load() == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.settled == nil {
		s.settled = make(chan struct{})
	}
	settled := s.settled
	s.mu.Unlock()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
