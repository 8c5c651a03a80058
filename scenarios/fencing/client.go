package fencing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/zk"
)

// Order is the first message to the client that will be paused.
type Order struct {
	Addresses []string
	Engine    string
	Variant   string
	Lock      string        // path
	Timeout   time.Duration // of the session that locks: the pause must last longer
	// Resource is the znode to write, with a separate session and DataTimeout; "": a register, which its keeper writes for the client.
	Resource    string
	DataTimeout time.Duration
	Fenced      bool
}

// Report is a message from the client: first that it holds and has checked its grant, then the outcome of its write.
type Report struct {
	Path     string        `json:",omitempty"`
	Token    int64         `json:",omitempty"`
	Wrote    bool          // the write was made: to the znode, or by this report to the register
	Fence    recipes.Fence `json:",omitempty"` // the fence that the write to the znode met
	Rejected string        `json:",omitempty"` // by the fence
	Error    string        `json:",omitempty"` // the trial has failed
}

// What the clients write.
const (
	valuePaused = "the paused client's"
	valueNext   = "the next holder's"
)

// Dial opens a session with the order's engine at its addresses.
type Dial func(ctx context.Context, o Order, timeout time.Duration) (zk.Session, error)

// failing opens sessions for a trial that fails when the servers refuse a request: a lock may try forever.
func (d Dial) failing(fail context.CancelCauseFunc) Dial {
	return func(ctx context.Context, o Order, timeout time.Duration) (zk.Session, error) {
		s, err := d(ctx, o, timeout)
		if err != nil {
			return nil, err
		}
		return zk.Observe(s, &zk.Trace{Call: func(c *zk.Call) {
			if scenarios.Refused(c) {
				fail(fmt.Errorf("the servers refused a request: %w", c.Err))
			}
		}}), nil
	}
}

// Serve is the client of one trial. It reads from in an Order for one of the locks and then the word to write, and reports to out; explain adds to its
// errors. It ends only when in ends, and then closes its sessions properly.
func Serve(ctx context.Context, in io.Reader, out io.Writer, of Locks, open Dial, explain func(error) error) error {
	ctx, cancel := context.WithCancel(ctx)
	orders, ended := make(chan Order), make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		for lines := json.NewDecoder(in); ; {
			var o Order
			if lines.Decode(&o) != nil {
				return
			}
			select {
			case orders <- o:
			case <-ctx.Done():
			}
		}
	}()
	say := json.NewEncoder(out)
	trial, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	err := serve(trial, orders, of, open.failing(fail), func(r Report) error { return say.Encode(r) })
	if why := context.Cause(trial); err != nil && zk.Refused(why) {
		err = why
	}
	if err != nil && ctx.Err() == nil {
		err = errors.Join(err, say.Encode(Report{Error: explain(err).Error()}))
	}
	<-ended
	return err
}

func serve(ctx context.Context, orders <-chan Order, of Locks, open Dial, say func(Report) error) error {
	next := func() (o Order, err error) {
		select {
		case o = <-orders:
		case <-ctx.Done():
			err = ctx.Err()
		}
		return o, err
	}
	o, err := next()
	if err != nil {
		return err
	}
	h, err := newHolder(ctx, o, of, open)
	if err != nil {
		return err
	}
	defer h.close()
	if err := h.acquire(ctx); err != nil {
		return err
	}
	if err := say(Report{Path: h.grant.Path, Token: h.grant.Token}); err != nil {
		return err
	}
	// The process is stopped here, between the check of the grant and the write that relies on it. The word to continue arrives while it is
	// stopped, so that the write is the first thing it does when it runs again.
	if _, err := next(); err != nil {
		return err
	}
	r, err := h.write(ctx)
	if err != nil {
		return err
	}
	if err := say(r); err != nil {
		return err
	}
	<-ctx.Done() // the sessions stay open until the trial is over
	return nil
}

// holder is a client that acquires the lock and writes the resource.
type holder struct {
	Order
	session, data zk.Session // data is nil for a register
	lock          recipes.Lock
	grant         recipes.Grant
}

func newHolder(ctx context.Context, o Order, of Locks, open Dial) (*holder, error) {
	newLock, ok := of.find(o.Variant)
	if !ok {
		return nil, fmt.Errorf("no lock is called %s", o.Variant)
	}
	h := &holder{Order: o}
	var err error
	if h.session, err = open(ctx, o, o.Timeout); err != nil {
		return nil, err
	}
	if o.Resource != "" {
		if h.data, err = open(ctx, o, o.DataTimeout); err != nil {
			return nil, errors.Join(err, h.session.Close())
		}
	}
	h.lock = newLock(h.session, o.Lock)
	return h, nil
}

func (h *holder) close() error {
	var err error
	if h.data != nil {
		err = h.data.Close()
	}
	return errors.Join(err, h.session.Close())
}

// acquire takes the lock, and checks the grant as a careful application does before it writes.
func (h *holder) acquire(ctx context.Context) (err error) {
	if h.grant, err = h.lock.Acquire(ctx); err != nil {
		return err
	}
	select {
	case <-h.grant.Lost:
		return fmt.Errorf("%s was lost before anybody was paused: the machine is too slow for a session timeout of %v", h.Lock, h.Timeout)
	default:
		return nil
	}
}

// write writes the znode, through the fence if there is one.
func (h *holder) write(ctx context.Context) (Report, error) {
	if h.data == nil {
		return Report{Wrote: true, Token: h.grant.Token}, nil
	}
	fence, err := writeZnode(ctx, h.data, h.Order, h.grant, valuePaused)
	switch {
	case err == nil:
		return Report{Wrote: true, Token: h.grant.Token, Fence: fence}, nil
	case errors.Is(err, recipes.ErrLockLost), errors.Is(err, recipes.ErrStale):
		return Report{Rejected: err.Error(), Fence: fence}, nil
	}
	return Report{}, err
}

// writeZnode is the write of both clients.
func writeZnode(ctx context.Context, s zk.Session, o Order, g recipes.Grant, value string) (recipes.Fence, error) {
	if !o.Fenced {
		_, err := s.Set(ctx, o.Resource, []byte(value), zk.AnyVersion)
		return recipes.FenceNone, err
	}
	fence, _, err := recipes.Protect(ctx, s, g, o.Resource, []byte(value))
	return fence, err
}
