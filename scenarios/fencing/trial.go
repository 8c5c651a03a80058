package fencing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// trialTimeout bounds a trial, in addition to the session timeout that it waits for: servers that take longer are considered broken.
const trialTimeout = time.Minute

// trial is one round: a paused client and the next holder of its lock.
type trial struct {
	order    Order
	client   Client
	heard    *json.Decoder // reads from the client
	next     *holder
	register *recipes.FencedRegister
	paused   recipes.Grant // as far as the client has reported
	stopped  time.Time
}

// play plays one round, and leaves neither a client nor a session behind.
func (c Config) play(ctx context.Context, r Row, dir string) (o outcome) {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout+2*c.Order.Timeout)
	defer cancel()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	t := &trial{order: c.Order, register: &recipes.FencedRegister{Unfenced: !r.Fenced}}
	t.order.Variant, t.order.Lock, t.order.Fenced = r.Variant, dir+"/lock", r.Fenced
	if r.Resource == Znode {
		t.order.Resource = dir + "/resource"
	}
	var err error
	dial := Dial(func(ctx context.Context, _ Order, _ time.Duration) (zk.Session, error) { return c.Dial(ctx) })
	if t.next, err = newHolder(ctx, t.order, c.Locks, dial.failing(fail)); err != nil {
		return outcome{err: err}
	}
	defer t.next.close()
	if err := t.makeZnodes(ctx, dir); err != nil {
		return outcome{err: err}
	}
	if t.client, err = c.Start(ctx); err != nil {
		return outcome{err: err}
	}
	t.heard = json.NewDecoder(t.client)
	if err := t.stage(ctx); err != nil {
		o.err = err
	} else if o, err = t.judge(ctx); err != nil {
		o.err = err
	}
	if err := t.client.Close(); o.err == nil {
		o.err = err
	}
	if ctx.Err() != nil && o.err != nil {
		o.err = context.Cause(ctx)
	}
	return o
}

func (t *trial) makeZnodes(ctx context.Context, dir string) error {
	for _, path := range []string{dir, t.order.Resource} {
		if path == "" {
			continue
		}
		if _, err := t.next.session.Create(ctx, path, nil, zk.Persistent); err != nil {
			return err
		}
	}
	return nil
}

// stage lets the first client acquire the lock, stops it, and lets the next holder acquire and write.
func (t *trial) stage(ctx context.Context) error {
	if err := t.tell(t.order); err != nil {
		return err
	}
	first, err := t.hear()
	if err != nil {
		return err
	}
	t.paused = recipes.Grant{Path: first.Path, Token: first.Token}
	if err := t.client.Pause(); err != nil {
		return err
	}
	t.stopped = time.Now()
	if err := t.tell(Order{}); err != nil { // the word to write, which the client finds when it resumes
		return err
	}
	if err := t.next.acquire(ctx); err != nil {
		return err
	}
	if t.next.grant.Token <= t.paused.Token {
		return fmt.Errorf("the next holder's token %#x is not above the first one's %#x", t.next.grant.Token, t.paused.Token)
	}
	if t.order.Resource == "" {
		return t.register.Write(t.next.grant.Token, []byte(valueNext))
	}
	_, err = writeZnode(ctx, t.next.data, t.order, t.next.grant, valueNext)
	return err
}

// judge lets the first client resume and write, and judges the outcome by the resource: what a client believes is no evidence.
func (t *trial) judge(ctx context.Context) (outcome, error) {
	before, err := t.read(ctx)
	if err != nil {
		return outcome{}, err
	}
	if before.value != valueNext {
		return outcome{}, fmt.Errorf("the resource has %q before the first client goes on", before.value)
	}
	pause := time.Since(t.stopped).Round(10 * time.Millisecond)
	if err := t.client.Resume(); err != nil {
		return outcome{}, err
	}
	report, err := t.hear()
	if err != nil {
		return outcome{}, err
	}
	if report.Wrote && t.order.Resource == "" {
		if err := t.register.Write(report.Token, []byte(valuePaused)); err != nil {
			report = Report{Rejected: err.Error(), Fence: recipes.FenceToken}
		}
	}
	after, err := t.read(ctx)
	if err != nil {
		return outcome{}, err
	}
	tokens, zxids := fmt.Sprintf("token %#x after %#x", t.paused.Token, t.next.grant.Token), ""
	if after.zxid != 0 {
		zxids = fmt.Sprintf(", zxid %#x after %#x", after.zxid, before.zxid)
	}
	switch {
	case report.Wrote && after.value == valuePaused:
		return outcome{accepted: true, fence: report.Fence, witness: fmt.Sprintf("written: %s%s; stopped for %v", tokens, zxids, pause)}, nil
	case report.Rejected != "" && after == before:
		return outcome{fence: report.Fence, witness: fmt.Sprintf("rejected: %s; stopped for %v", tokens, pause)}, nil
	}
	return outcome{}, fmt.Errorf("the client reports %+v, and the resource has %q, zxid %#x, after %#x", report, after.value, after.zxid,
		before.zxid)
}

// state is what a resource holds.
type state struct {
	value string
	zxid  int64 // the transaction that wrote a znode
}

func (t *trial) read(ctx context.Context) (state, error) {
	if t.order.Resource == "" {
		value, _ := t.register.Read()
		return state{value: string(value)}, nil
	}
	if err := zk.CatchUp(ctx, t.next.data, t.order.Resource); err != nil {
		return state{}, err
	}
	data, st, err := t.next.data.Get(ctx, t.order.Resource)
	if value, _, fenced := recipes.ParseFenced(data); fenced == nil {
		data = value
	}
	return state{string(data), st.Mzxid}, err
}

func (t *trial) tell(o Order) error { return json.NewEncoder(t.client).Encode(o) }

func (t *trial) hear() (Report, error) {
	var r Report
	err := t.heard.Decode(&r)
	switch {
	case errors.Is(err, io.EOF):
		return r, errors.New("the client has ended")
	case err != nil:
		return r, fmt.Errorf("the client: %w", err)
	case r.Error != "":
		return r, fmt.Errorf("the client: %s", r.Error)
	}
	return r, nil
}
