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
	Seat
	w       *operations
	s       zk.Session
	session int           // number of the seat's session, from 0
	free    chan struct{} // full when no further request may be in flight
	owed    int           // creates that replaced deletes when there was nothing to delete

	mu   sync.Mutex // guards mine
	mine []own      // znodes that it has created and not yet asked to delete
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
	j := &requester{Seat: seat, w: w, s: zk.Observe(seat.Session, counted(seat.Origin, seat.Fanout)), session: state.sessions,
		free: make(chan struct{}, w.Int(outstanding))}
	state.sessions++
	return j.step
}

// request is an operation that has been drawn but not yet sent.
type request struct {
	metrics.Sample
	do    func(ctx context.Context) (token int64, version int32, err error) // token 0: the transaction of the reply
	parts []metrics.Sample                                                  // for the other znodes that it changes: their Object, and the Value that do fills in
}

// step sends one operation. It waits for its completion if no other operation may be in flight.
func (j *requester) step(ctx context.Context, due time.Duration) error {
	select {
	case j.free <- struct{}{}:
	case <-ctx.Done():
		now := j.Origin.Now()
		j.Recorder.Record(metrics.Sample{Op: j.w.Draw(j.ID, j.Rand), Outcome: metrics.Unfinished, Session: j.ID, Due: due, Start: now, End: now})
		return j.Session.Err()
	}
	r := j.draw()
	r.Session, r.Due, r.Start = j.ID, due, j.Origin.Now()
	if cap(j.free) == 1 {
		j.carryOut(ctx, r)
		return j.Session.Err()
	}
	if !j.w.Open {
		r.Due = r.Start
	}
	pending := &j.w.state[j.ID].pending
	pending.Add(1)
	j.Session.Go(func() {
		defer pending.Done()
		j.carryOut(ctx, r)
	})
	return j.Session.Err()
}

// carryOut sends a request and records its outcome.
func (j *requester) carryOut(ctx context.Context, r request) {
	actx, cancel := within(ctx, j.w.Deadline)
	defer cancel()
	reply := &zk.Reply{Context: actx}
	token, version, err := r.do(reply)
	r.End = j.Origin.Now()
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
	<-j.free
}

// draw draws the next operation. A session that should delete but has created nothing creates instead, and deletes the next time that it should
// create: this keeps the shares.
func (j *requester) draw() request {
	op, key := j.w.Draw(j.ID, j.Rand), j.w.draw(j.Rand)
	j.mu.Lock()
	some := len(j.mine) > 0
	j.mu.Unlock()
	switch {
	case op == metrics.Delete && !some:
		op = metrics.Create
		j.owed++
	case op == metrics.Create && some && j.owed > 0:
		op = metrics.Delete
		j.owed--
	}
	r := request{Sample: metrics.Sample{Op: op, Object: uint32(key)}}
	leaf := j.w.leaf(key)
	switch op {
	case metrics.GetData:
		r.do = func(ctx context.Context) (int64, int32, error) {
			_, st, err := j.s.Get(ctx, leaf)
			return st.Mzxid, st.Version, err
		}
	case metrics.Exists:
		r.do = func(ctx context.Context) (int64, int32, error) {
			st, there, err := j.s.Exists(ctx, leaf)
			if err == nil && !there {
				err = &zk.Error{Op: zk.KindExists, Path: leaf, Err: zk.ErrNoNode}
			}
			return st.Mzxid, st.Version, err
		}
	case metrics.SetData:
		data := make([]byte, j.w.sizes.Sample(j.Rand))
		r.do = func(ctx context.Context) (int64, int32, error) {
			st, err := j.s.Set(ctx, leaf, data, zk.AnyVersion)
			return st.Mzxid, st.Version, err
		}
	case metrics.Sync:
		r.do = func(ctx context.Context) (int64, int32, error) { return 0, -1, j.s.Sync(ctx, leaf) }
	case metrics.Multi:
		j.multi(&r, key)
	default:
		j.ofDir(&r, key)
	}
	return r
}

// multi sets several consecutive znodes.
func (j *requester) multi(r *request, key int) {
	var ops []zk.Op
	for i := range j.w.Int(batch) {
		at := (key + i) % j.w.n
		ops = append(ops, zk.SetOp(j.w.leaf(at), make([]byte, j.w.sizes.Sample(j.Rand)), zk.AnyVersion))
		if i > 0 {
			r.parts = append(r.parts, metrics.Sample{Object: uint32(at)})
		}
	}
	parts := r.parts
	r.do = func(ctx context.Context) (int64, int32, error) {
		results, err := j.s.Multi(ctx, ops...)
		if err != nil {
			return 0, -1, err
		}
		for i := range parts {
			parts[i].Value = check.Seen(j.session, results[i+1].Stat.Version)
		}
		return results[0].Stat.Mzxid, results[0].Stat.Version, nil
	}
}

// ofDir lists a znode above the lowest level, adds a child to it, or removes one.
func (j *requester) ofDir(r *request, key int) {
	r.Object = j.w.dirObject(key)
	dir := j.w.dir(key)
	switch r.Op {
	case metrics.Children:
		r.do = func(ctx context.Context) (int64, int32, error) {
			_, st, err := j.s.Children(ctx, dir)
			return st.Pzxid, st.Cversion, err
		}
	case metrics.Create:
		state := &j.w.state[j.ID]
		state.created++
		path := fmt.Sprintf("%s/%s%d-%d", dir, created[j.w.mode], j.ID, state.created)
		data := make([]byte, j.w.sizes.Sample(j.Rand))
		r.do = func(ctx context.Context) (int64, int32, error) {
			_, err := j.s.Create(ctx, path, data, j.w.mode)
			if err == nil {
				j.mu.Lock()
				j.mine = append(j.mine, own{path, r.Object})
				j.mu.Unlock()
			}
			return 0, -1, err
		}
	case metrics.Delete:
		j.mu.Lock()
		oldest := j.mine[0]
		j.mine = j.mine[1:]
		j.mu.Unlock()
		r.Object = oldest.dir
		r.do = func(ctx context.Context) (int64, int32, error) {
			return 0, -1, j.s.Delete(ctx, oldest.path, zk.AnyVersion)
		}
	}
}
