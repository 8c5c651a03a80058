package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// requester is the seat of a session that sends requests.
type requester struct {
	// The fields that every request uses come first: with thousands of sessions, their cache lines are cold by the time the next request is made.
	w       *operations
	meter   meter
	reply   zk.Reply // of its request, if only one may be in flight
	session int      // number of the seat's session, from 0
	Seat

	free chan struct{} // full when no further request may be in flight; nil if only one may
	owed int           // creates that replaced deletes when there was nothing to delete

	mu   sync.Mutex // guards mine
	mine []own      // znodes that it has created and not yet asked to delete

	_ [48]byte // to whole cache lines, so that every requester starts with one
}

// created is the name prefix of the znodes that a session creates.
var created = map[zk.Mode]string{zk.Persistent: "new-", zk.Ephemeral: "own-"}

// own is a znode that a session has created.
type own struct {
	path string
	dir  uint32
}

// Join returns the session's step.
func (w *operations) Join(seat Seat) Step {
	state := &w.state[seat.ID]
	j := &requester{Seat: seat, w: w, meter: seat.meter(), session: state.sessions}
	j.meter.observe(seat.Session, &j.meter)
	state.sessions++
	if n := w.Int(outstanding); n > 1 {
		j.free = make(chan struct{}, n)
		return StepFunc(j.start)
	}
	return j
}

// Do implements [Step] for a session with one request in flight at a time.
func (j *requester) Do(ctx context.Context, due time.Duration) error {
	var r request
	j.draw(&r, due)
	if j.carryOut(ctx, &r, &j.reply); r.Outcome == metrics.OK {
		return nil
	}
	return j.meter.session.Err()
}

// request is an operation that has been drawn but not yet sent.
type request struct {
	metrics.Sample
	path  string
	data  []byte           // to be set, or of a new znode
	ops   []zk.Op          // of a multi
	parts []metrics.Sample // for the other znodes that a multi changes: their Object, and the Value that send fills in
}

// start sends one operation, as soon as another operation may be in flight, and does not wait for its completion.
func (j *requester) start(ctx context.Context, due time.Duration) error {
	select {
	case j.free <- struct{}{}:
	case <-ctx.Done():
		now := j.Origin.Now()
		j.Recorder.Record(metrics.Sample{Op: j.w.Draw(j.ID, j.Rand), Outcome: metrics.Unfinished, Session: j.ID, Due: due, Start: now, End: now})
		return j.Session.Err()
	}
	if !j.w.Open { // as soon as a request may be sent
		due = j.Origin.Now()
	}
	var r request
	j.draw(&r, due)
	pending := &j.w.state[j.ID].pending
	pending.Add(1)
	j.Session.Go(func() {
		defer pending.Done()
		j.carryOut(ctx, &r, new(zk.Reply))
		<-j.free
	})
	return j.Session.Err()
}

// carryOut sends a request and records its outcome.
func (j *requester) carryOut(ctx context.Context, r *request, reply *zk.Reply) {
	actx, cancel := within(ctx, j.w.Deadline)
	defer cancel()
	reply.Context, reply.Zxid = actx, 0
	token, version, err := j.send(reply, r)
	r.End = j.Origin.At(reply.End)
	r.Outcome, r.Zxid = outcome(ctx, err), reply.Zxid
	if (r.Outcome == metrics.Failed || r.Outcome == metrics.Unfinished) && errors.Is(err, zk.ErrMaybeApplied) {
		r.Outcome = metrics.InDoubt
	}
	if r.Op == metrics.Sync && j.MayLead != nil && j.MayLead() {
		version = check.AtLeader
	}
	r.Value = check.Seen(j.session, version)
	if err == nil {
		r.Token = cmp.Or(token, reply.Zxid)
	}
	for i, p := range r.parts {
		r.parts[i] = r.Sample
		r.parts[i].Op, r.parts[i].Object, r.parts[i].Value = metrics.Apply, p.Object, p.Value
	}
	j.Recorder.Record(r.Sample, r.parts...)
}

// send sends a request and waits for the reply. If token is 0, the transaction is that of the reply.
func (j *requester) send(ctx context.Context, r *request) (token int64, version int32, err error) {
	var st zk.Stat
	session := &j.meter.session
	switch r.Op {
	case metrics.GetData:
		_, st, err = session.Get(ctx, r.path)
	case metrics.Exists:
		var there bool
		if st, there, err = session.Exists(ctx, r.path); err == nil && !there {
			err = &zk.Error{Op: zk.KindExists, Path: r.path, Err: zk.ErrNoNode}
		}
	case metrics.SetData:
		st, err = session.Set(ctx, r.path, r.data, zk.AnyVersion)
	case metrics.Children:
		_, st, err = session.Children(ctx, r.path)
		return st.Pzxid, st.Cversion, err
	case metrics.Multi:
		results, err := session.Multi(ctx, r.ops...)
		if err != nil {
			return 0, -1, err
		}
		for i := range r.parts {
			r.parts[i].Value = check.Seen(j.session, results[i+1].Stat.Version)
		}
		return results[0].Stat.Mzxid, results[0].Stat.Version, nil
	case metrics.Sync:
		return 0, -1, session.Sync(ctx, r.path)
	case metrics.Create:
		if _, err = session.Create(ctx, r.path, r.data, j.w.mode); err == nil {
			j.mu.Lock()
			j.mine = append(j.mine, own{r.path, r.Object})
			j.mu.Unlock()
		}
		return 0, -1, err
	case metrics.Delete:
		return 0, -1, session.Delete(ctx, r.path, zk.AnyVersion)
	}
	return st.Mzxid, st.Version, err
}

// draw draws the next operation into r, which is empty. A session that should delete but has created nothing creates instead, and deletes the next time that it should
// create: this keeps the shares.
func (j *requester) draw(r *request, due time.Duration) {
	r.Op, r.Session, r.Due = j.w.Draw(j.ID, j.Rand), j.ID, due
	key := j.w.draw(j.Rand)
	r.Object = uint32(key)
	switch r.Op {
	case metrics.Create, metrics.Delete:
		j.childOf(r, key)
	case metrics.Children:
		r.Object, r.path = j.w.dirObject(key), j.w.dir(key)
	case metrics.Multi: // of several consecutive znodes
		for i := range j.w.Int(batch) {
			at := (key + i) % j.w.n
			r.ops = append(r.ops, zk.SetOp(j.w.leaf(at), j.someData(), zk.AnyVersion))
			if i > 0 {
				r.parts = append(r.parts, metrics.Sample{Object: uint32(at)})
			}
		}
	case metrics.SetData:
		r.path, r.data = j.w.leaf(key), j.someData()
	default:
		r.path = j.w.leaf(key)
	}
	r.Start = start(j.w.Open, due, j.Origin)
}

func (j *requester) someData() []byte { return make([]byte, j.w.sizes.Sample(j.Rand)) }

// childOf makes r the creation or the removal of a child of a znode above the lowest level.
func (j *requester) childOf(r *request, key int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	some := len(j.mine) > 0
	switch {
	case r.Op == metrics.Delete && !some:
		r.Op = metrics.Create
		j.owed++
	case r.Op == metrics.Create && some && j.owed > 0:
		r.Op = metrics.Delete
		j.owed--
	}
	if r.Op == metrics.Delete {
		r.Object, r.path = j.mine[0].dir, j.mine[0].path
		j.mine = j.mine[1:]
		return
	}
	state := &j.w.state[j.ID]
	state.created++
	r.Object, r.path, r.data = j.w.dirObject(key), fmt.Sprintf("%s/%s%d-%d", j.w.dir(key), created[j.w.mode], j.ID, state.created), j.someData()
}
