package wire

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// do sends a request and waits for its reply, or for ctx to end. If the error is not nil, the call has been freed; otherwise the caller must free it.
func (c *Client) do(ctx context.Context, k *call) error {
	if k.err != nil {
		return discard(k, k.err)
	}
	done, patient := zk.Watched(ctx)
	if !patient {
		if err := ctx.Err(); err != nil {
			return discard(k, err)
		}
	}
	if len(k.req) > c.limit {
		return discard(k, fmt.Errorf("a request of %d bytes: %w", len(k.req), zk.ErrBadArguments))
	}
	k.patient = patient
	if err := c.send(k); err != nil {
		return discard(k, err)
	}
	if done == nil {
		<-k.ready
		if patient && k.fate.Load() == callPending { // it was Interrupt
			if err := c.abandon(k, ctx.Err()); err != nil {
				return err
			}
		}
	} else {
		select {
		case <-k.ready:
		case <-done:
			if err := c.abandon(k, ctx.Err()); err != nil {
				return err
			}
		}
	}
	zk.Replied(ctx, k.zxid)
	if k.err != nil {
		return discard(k, k.err)
	}
	return nil
}

// discard frees a call that failed and returns the error with the operation and path that were attempted.
func discard(k *call, err error) error {
	e := &zk.Error{Op: k.kind, Path: k.path, Err: err}
	k.free()
	return e
}

// send queues a request and writes it; while the session is disconnected it waits in line.
func (c *Client) send(k *call) error {
	c.wmu.Lock()
	c.mu.Lock()
	if err := c.over(k); err != nil {
		c.mu.Unlock()
		c.wmu.Unlock()
		return err
	}
	cn := c.conn
	if cn == nil {
		c.waiting.push(k)
		c.mu.Unlock()
		c.wmu.Unlock()
		return nil
	}
	c.enlist(k)
	c.mu.Unlock()
	cn.sent.Store(k.sent)
	err := cn.send(k.req)
	c.wmu.Unlock()
	if err != nil {
		cn.broken(err)
	}
	return nil
}

// Interrupt gives up the requests that have a patient context; see [zk.Interrupt].
func (c *Client) Interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.halted = true
	for _, q := range []*queue{&c.pending, &c.waiting} {
		for k := q.head; k != nil; k = k.next {
			if k.patient && !k.interrupted {
				k.interrupted = true
				k.ready <- struct{}{}
			}
		}
	}
}

// over returns why no more requests are accepted, nil if they are. Called with mu held.
func (c *Client) over(k *call) error {
	if c.err != nil {
		return c.err
	}
	if c.halted && k.patient {
		return context.Canceled
	}
	if c.shut && k.op != jute.OpClose {
		return zk.ErrClosed
	}
	return nil
}

// enlist appends a request to the queue of those that wait for replies. Called with wmu and mu held, before the write.
func (c *Client) enlist(k *call) {
	if k.op == jute.OpSetWatches || k.op == jute.OpSetWatches2 {
		k.xid = jute.XidSetWatches
	} else {
		c.xid = max(c.xid+1, 1) // wraps from the largest number to 1
		k.xid = c.xid
	}
	k.sent = c.eng.clock.Load()
	jute.Seal(k.req, k.xid)
	c.pending.push(k)
	c.tap.tellSent(k.kind)
	if k.arm != armNone {
		c.sites.begin(k.path, k.arm)
	}
}

// abandon gives up a call whose caller's context has ended. It returns nil if the reply has won the race.
func (c *Client) abandon(k *call, cause error) error {
	c.mu.Lock()
	if k.in == &c.waiting && k.fate.CompareAndSwap(callPending, callDone) { // never sent, or a read
		c.waiting.remove(k)
		c.mu.Unlock()
		return discard(k, cause)
	}
	e := &zk.Error{Op: k.kind, Path: k.path, Err: cause}
	if !k.again {
		e.Err = zk.Abandoned(cause)
	}
	gone := k.fate.CompareAndSwap(callPending, callAbandoned)
	c.mu.Unlock()
	if gone {
		return e
	}
	<-k.ready
	return nil
}

// post sends a request of the client itself, without waiting for the reply, unless it has become pointless by the time it would be sent: choose
// decides that with wmu and mu held, so that its decision is still valid on the wire.
func (c *Client) post(choose func() []*call) {
	c.wmu.Lock()
	c.mu.Lock()
	cn := c.conn
	if cn == nil {
		c.mu.Unlock()
		c.wmu.Unlock()
		return
	}
	ks := choose()
	for _, k := range ks {
		c.enlist(k)
	}
	c.mu.Unlock()
	var err error
	for _, k := range ks {
		if err == nil {
			err = cn.send(k.req)
		}
	}
	c.wmu.Unlock()
	if err != nil {
		cn.broken(err)
	}
}
