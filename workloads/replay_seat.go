package workloads

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/traffic/replay"
	"github.com/zkbench/zkbench/traffic/trace"
	"github.com/zkbench/zkbench/zk"
)

// replayClient is what a client keeps across its sessions.
type replayClient struct {
	mu      sync.Mutex
	next    int // index of its next item
	round   int
	joined  bool
	pending sync.WaitGroup // requests in flight
}

// take returns the next item of a client, and its round.
func (w *replays) take(session uint32) (*round, *replay.Item) {
	c := &w.clients[session]
	c.mu.Lock()
	defer c.mu.Unlock()
	items := w.plan.Clients[session]
	if c.next == len(items) {
		c.next, c.round = 0, c.round+1
	}
	it := &items[c.next]
	c.next++
	r := w.rounds[c.round]
	r.start()
	return r, it
}

// Skip leaves out the next Step of a client, and returns the operation that it would have been.
func (w *replays) Skip(session uint32) metrics.Op {
	r, it := w.take(session)
	defer r.finish(it)
	if !it.Offers() {
		return metrics.OpNone
	}
	w.fidelity.due.Add(1)
	w.fidelity.unsent.Add(1)
	return replayed[it.Op]
}

// player is the seat of a client.
type player struct {
	Seat
	w      *replays
	client *replayClient
	s      zk.Session    // the current one, with its requests counted; nil while there is none
	sent   chan struct{} // a request has left
}

// Join returns the client's step. The session that it starts with is closed, unless the recording starts with such a session.
func (w *replays) Join(seat Seat) Step {
	j := &player{Seat: seat, w: w, client: &w.clients[seat.ID], sent: make(chan struct{}, 1)}
	items := w.items(seat.ID)
	if len(items) == 0 {
		return StepFunc(func(context.Context, time.Duration) error { return nil })
	}
	first := !j.client.joined
	j.client.joined = true
	if old := seat.Session; first {
		if it := items[0]; it.Kind != replay.Resume || it.Timeout != 0 && it.Timeout != old.Timeout() {
			j.client.pending.Go(func() { old.Close() })
			return j
		}
	}
	j.use(seat.Session)
	return j
}

// use makes the session the client's.
func (j *player) use(s zk.Session) {
	j.Session = s
	p := &played{j.meter(), j}
	j.s = p.observe(s, p)
}

// played observes the session of a player.
type played struct {
	meter
	*player
}

// Sends counts a request, and tells the player of its own.
func (p *played) Sends(k zk.Kind, at time.Time) {
	p.meter.Sends(k, at)
	switch k {
	case zk.KindPing, zk.KindConnect, zk.KindAuth, zk.KindSetWatches, zk.KindRemoveWatches:
	default:
		select {
		case p.sent <- struct{}{}:
		default:
		}
	}
}

// Receives counts an event.
func (p *played) Receives(at time.Time) {
	p.meter.Receives(at)
	p.w.fidelity.events.Add(1)
}

// Do does what is due next. It returns an error if the session has ended by itself.
func (j *player) Do(ctx context.Context, due time.Duration) error {
	r, it := j.w.take(j.ID)
	switch it.Kind {
	case replay.Open, replay.Resume:
		defer r.finish(it)
		return j.open(ctx, it, due)
	case replay.Close:
		defer r.finish(it)
		return j.close(due)
	case replay.Vanish:
		defer r.finish(it)
		return j.vanish(ctx, r)
	}
	if !j.await(ctx, r, it) {
		r.finish(it)
		j.cut(it, due)
		return j.err()
	}
	j.send(ctx, r, it, due)
	return j.err()
}

// err returns why the session has ended, if the trace has not ended it.
func (j *player) err() error {
	if j.s == nil {
		return nil
	}
	return j.s.Err()
}

// open opens the session, unless the client has one already.
func (j *player) open(ctx context.Context, it *replay.Item, due time.Duration) error {
	if j.s != nil && it.Kind == replay.Resume && j.s.Err() == nil {
		return nil
	}
	if j.s != nil { // the recording ended before it did
		j.client.pending.Wait()
		j.Session.Close()
		j.s = nil
	}
	actx, cancel := within(ctx, j.w.Deadline)
	defer cancel()
	s := metrics.Sample{Op: metrics.Open, Session: j.ID, Due: due, Start: j.Origin.Now()}
	fresh, err := j.opened(actx, it.Timeout)
	s.End, s.Outcome = j.Origin.Now(), outcome(ctx, err)
	if err == nil {
		s.Token = fresh.ID()
		j.use(fresh)
		if it.Timeout > 0 && fresh.Timeout() != it.Timeout {
			j.w.fidelity.timeouts.Add(1)
		}
	}
	if it.Kind == replay.Open {
		j.Recorder.Record(s)
	}
	return nil
}

func (j *player) opened(ctx context.Context, timeout time.Duration) (zk.Session, error) {
	if timeout == 0 || j.OpenFor == nil {
		return j.Seat.Open(ctx)
	}
	return j.OpenFor(ctx, timeout)
}

// close closes the session when its requests are answered.
func (j *player) close(due time.Duration) error {
	j.client.pending.Wait()
	if j.s == nil {
		return nil
	}
	if err := j.s.Err(); err != nil {
		j.w.fidelity.diverge(Divergence{At: due, What: "close", Want: "ok", Got: err.Error()})
		j.s = nil
		return nil
	}
	s := metrics.Sample{Op: metrics.Close, Session: j.ID, Token: j.Session.ID(), Due: due, Start: j.Origin.Now()}
	if j.Session.Close() != nil { // no server has answered: the session may live until it expires
		s.Outcome = metrics.InDoubt
	}
	s.End = j.Origin.Now()
	j.Recorder.Record(s)
	j.s = nil
	return nil
}

// vanish leaves the session to expire. Its last sign of life is a read, so that the servers wait a whole timeout from now on.
func (j *player) vanish(ctx context.Context, r *round) error {
	j.client.pending.Wait()
	if j.s == nil || j.s.Err() != nil {
		return nil
	}
	j.s.Exists(ctx, r.dir) // whatever the answer is
	k, able := zk.AsKiller(j.Session)
	if !able {
		return fmt.Errorf("%w: the engine cannot leave a session to expire", ErrEnded)
	}
	k.Crash()
	j.w.fidelity.vanished.Add(1)
	j.s = nil
	return nil
}

// await waits for what a request needs; it returns false if ctx ends first.
func (j *player) await(ctx context.Context, r *round, it *replay.Item) bool {
	from, waited := j.Origin.Now(), false
	for _, n := range append(it.Needs, it.Expired...) {
		if isDone(r.done[n]) {
			continue
		}
		waited = true
		select {
		case <-r.done[n]:
		case <-ctx.Done():
			return false
		}
	}
	if len(it.Expired) > 0 {
		for _, a := range actions(it) {
			if (a.Op == trace.Create || a.Op != trace.NoOp && a.Code == replay.NoNode) && j.gone(ctx, r, a) {
				waited = true
			}
		}
	}
	if waited {
		j.w.fidelity.waits.Add(1)
		j.w.fidelity.waited.Add(int64(j.Origin.Now() - from))
	}
	return ctx.Err() == nil
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func actions(it *replay.Item) []replay.Action {
	if it.Op == trace.Multi {
		return it.Ops
	}
	return []replay.Action{it.Action}
}

// gone waits until the servers have expired the session whose znode is in the way of a create, or has to be missed, and reports whether it had to.
func (j *player) gone(ctx context.Context, r *round, a replay.Action) (waited bool) {
	if a.Flags&trace.Sequential != 0 || j.s == nil {
		return false
	}
	path, _ := r.path(a.Path)
	for {
		_, there, watch, err := j.s.ExistsW(ctx, path)
		if err != nil {
			return waited
		}
		if !there {
			watch.Stop()
			return waited
		}
		waited = true
		select {
		case <-watch.C():
			j.w.fidelity.events.Add(-1) // this watch is no recorded one
		case <-ctx.Done():
			return waited
		}
	}
}

// cut records a request that the end of the cell has cut before it was sent.
func (j *player) cut(it *replay.Item, due time.Duration) {
	if !it.Offers() {
		return
	}
	j.w.fidelity.due.Add(1)
	j.w.fidelity.unsent.Add(1)
	now := j.Origin.Now()
	j.Recorder.Record(metrics.Sample{Op: replayed[it.Op], Outcome: metrics.Unfinished, Session: j.ID, Due: due, Start: now, End: now})
}

// send sends a request, and returns when the session has it: those after it come after it.
func (j *player) send(ctx context.Context, r *round, it *replay.Item, due time.Duration) {
	f, late := &j.w.fidelity, false
	s := metrics.Sample{Op: replayed[it.Op], Session: j.ID, Due: due, Start: j.Origin.Now()}
	if !j.w.Open {
		s.Due = s.Start
	}
	if it.Offers() {
		f.due.Add(1)
		late = j.w.Open && f.lagged(s.Lag())
	}
	if j.s == nil {
		r.finish(it)
		if it.Offers() {
			f.unsent.Add(1)
			s.Outcome, s.End = metrics.Failed, s.Start
			j.Recorder.Record(s)
		}
		return
	}
	select { // left by a request that was sent again
	case <-j.sent:
	default:
	}
	answered := make(chan struct{})
	session := j.s
	j.client.pending.Go(func() {
		defer r.finish(it)
		defer close(answered)
		j.carryOut(ctx, session, r, it, s, late)
	})
	select {
	case <-j.sent:
	case <-answered:
	case <-ctx.Done():
	}
}

// carryOut sends a request, and compares the answer with the recorded one.
func (j *player) carryOut(ctx context.Context, session zk.Session, r *round, it *replay.Item, s metrics.Sample, late bool) {
	actx, cancel := within(ctx, j.w.Deadline)
	defer cancel()
	reply := &zk.Reply{Context: actx}
	sent := sending{session: session, round: r, item: it}
	err := sent.do(reply)
	s.End, s.Zxid = j.Origin.Now(), reply.Zxid
	if !it.Offers() {
		if err != nil {
			j.w.fidelity.diverge(Divergence{At: s.Due, Session: it.Session, What: "prefill of an ephemeral znode", Path: it.Shown, Want: "ok", Got: codeOf(err)})
		}
		return
	}
	f := &j.w.fidelity
	if sent.unmapped {
		f.unmapped.Add(1)
	}
	want, ended, differs := zk.FromCode(it.Code), outcome(ctx, err), false
	switch {
	case ended == metrics.Unfinished && errors.Is(err, zk.ErrMaybeApplied):
		s.Outcome = metrics.InDoubt
	case ended == metrics.Unfinished:
		s.Outcome = ended
	case it.Drawn && (err == nil || zk.Classify(err) == zk.ClassDefiniteNo && !zk.Refused(err)): // nobody knows what the answer was
	case it.Code == trace.Pending: // nor here
	case want == nil && err == nil, want != nil && errors.Is(err, want):
	default:
		differs = true
		s.Outcome = ended
		if err == nil { // where it failed in the recording
			s.Outcome = metrics.Failed
		} else if ended == metrics.Failed && errors.Is(err, zk.ErrMaybeApplied) {
			s.Outcome = metrics.InDoubt
		}
		f.diverge(Divergence{At: s.Due, Session: it.Session, What: replayed[it.Op].String(), Path: it.Shown, Want: codeOf(want), Got: codeOf(err)})
	}
	if differs || sent.unmapped || late {
		f.bad.Add(1)
	}
	if err == nil {
		s.Token = reply.Zxid
	}
	j.Recorder.Record(s)
}
