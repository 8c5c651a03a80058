package workloads

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// watcherSeat is the seat of a watcher. All fields except received belong to its goroutine.
type watcherSeat struct {
	Seat
	w     *watchLoad
	s     zk.Session
	state *watcherState

	current bool      // the server has applied what Setup created
	watch   *zk.Watch // the armed watch; nil: none
	stream  *zk.Stream
	gap     bool            // events of the stream may be missing, and nothing has been read since
	token   int64           // the transaction whose state it was armed in
	since   time.Duration   // when it was armed, or when its last event arrived
	down    <-chan struct{} // closed when the connection has broken since then
	last    int64           // the change of the last event

	received atomic.Int64 // number of events that the session has received
	seen     int64        // number of these that are accounted for
}

// step arms the watch, or waits for one event and arms it again. It returns false if that failed.
func (j *watcherSeat) step(ctx context.Context) bool {
	switch {
	case j.gap:
		return j.catchUp(ctx)
	case j.watch == nil && j.stream == nil:
		return j.arm(ctx)
	case j.watch != nil:
		var e zk.Event
		select {
		case e = <-j.watch.C():
		case <-j.state.late:
			return j.abandon(ctx)
		case <-ctx.Done():
			j.await(metrics.Unfinished, zk.Event{At: time.Now()}, false)
			return true
		}
		j.watch = nil
		return j.take(e) && j.arm(ctx)
	}
	e, err := j.stream.Next(ctx)
	if err != nil {
		j.await(metrics.Unfinished, zk.Event{At: time.Now()}, false)
		return true
	}
	return j.take(e) && (!j.gap || j.catchUp(ctx))
}

// abandon re-arms a one-shot watch whose event is overdue. An application that has no other way to learn of a change would not do that, but without
// it the watcher would get no event for the rest of the cell. The account reports whether the event was lost or late.
func (j *watcherSeat) abandon(ctx context.Context) bool {
	if isClosed(zk.Disconnected(j.Session)) {
		return true // the next connection re-arms it; if the session is over, the watch reports that
	}
	w := j.watch
	w.Stop()
	j.watch = nil
	select {
	case e := <-w.C():
		return j.take(e) && j.arm(ctx)
	default:
	}
	j.await(metrics.Timeout, zk.Event{At: time.Now()}, isClosed(j.down))
	return j.arm(ctx)
}

// arm arms the watch. The server may lag behind Setup, whose changes are not part of the load, so it is made to catch up the first time.
func (j *watcherSeat) arm(ctx context.Context) bool {
	if !j.current {
		if j.current = zk.CatchUp(ctx, j.s, j.w.at()) == nil; !j.current {
			return false
		}
	}
	s := metrics.Sample{Op: metrics.Arm, Session: j.ID, Start: j.Origin.Now()}
	s.Due = s.Start
	r := &zk.Reply{Context: ctx}
	j.down = zk.Disconnected(j.Session)
	var err error
	if j.w.once {
		j.watch, err = j.w.arm(r, j.s, j.w.at())
	} else if p, can := zk.AsPersistentWatcher(j.s); can {
		j.stream, err = p.AddWatch(r, j.w.at(), j.w.recursive)
	} else {
		err = zk.ErrUnimplemented
	}
	s.End, s.Token = j.Origin.Now(), r.Zxid
	if s.Outcome = outcome(ctx, err); err == nil {
		j.armed(r.Zxid)
	}
	j.Recorder.Record(s)
	return err == nil
}

// armed notes that the watch is armed in the state of a transaction.
func (j *watcherSeat) armed(zxid int64) {
	if isClosed(j.down) { // the answered request was sent on a new connection
		j.down = zk.Disconnected(j.Session)
	}
	j.token, j.since = zxid, j.Origin.Now()
	j.w.armedAt(j.state, zxid)
}

// take accounts for what the watch reports. It returns false if the watch is lost, or if the connection was and events may be missing.
func (j *watcherSeat) take(e zk.Event) bool {
	if e.Err == nil {
		j.await(metrics.OK, e, isClosed(j.down) && j.w.once)
		return true
	}
	j.await(metrics.Lost, e, true)
	j.record(j.w.disarm(j.state, j.w.once))
	if j.stream != nil && errors.Is(e.Err, zk.ErrWatchLost) {
		j.gap = true
		return true
	}
	j.stream = nil
	return false
}

// catchUp resynchronizes a persistent watch after its connection was lost. It reads the znode until the watch has reported nothing between a request
// and its reply: all events reported so far are then of changes that this read saw, and all later events are of changes that it did not see. If the
// server does not send the zxid of an event, there is no other way to know.
func (j *watcherSeat) catchUp(ctx context.Context) bool {
	for {
		j.down = zk.Disconnected(j.Session)
		r := &zk.Reply{Context: ctx}
		if _, _, err := j.s.Exists(r, j.w.at()); err != nil {
			return false
		}
		quiet := true
		for e, some := j.stream.Poll(); some; e, some = j.stream.Poll() {
			quiet = false
			if e.Err == nil {
				j.await(metrics.OK, e, true)
			} else if !j.take(e) {
				j.gap = false
				return false
			}
		}
		if quiet {
			j.gap = false
			j.armed(r.Zxid)
			return true
		}
	}
}

// await records how the wait for an event ended. broke says that the connection broke during the wait.
func (j *watcherSeat) await(o metrics.Outcome, e zk.Event, broke bool) {
	s := metrics.Sample{Op: metrics.Await, Outcome: o, Session: j.ID, Token: j.token, Zxid: e.Zxid, Due: j.since, Start: j.since, End: j.Origin.At(e.At)}
	if broke {
		s.Value = 1
	}
	if o == metrics.OK {
		j.seen++
	}
	if j.w.once { // a persistent watch reports everything that it receives
		extra := j.received.Load() - j.seen
		if o != metrics.OK && extra > 0 { // the awaited event may be between the socket and here
			extra--
		}
		if extra > 0 {
			s.Value += 2 * extra
			j.seen += extra
		}
	}
	s.Start = min(s.Start, s.End)
	s.Due = s.Start
	j.Recorder.Record(s)
	if j.since = s.End; o != metrics.OK || broke && !j.w.once && e.Zxid == 0 {
		return
	}
	of, parts := j.w.deliver(j.state, j.token, e.Zxid, &j.last, j.w.once, s.End)
	if of != nil {
		d := of.part(metrics.Deliver, metrics.OK, s.End)
		d.Session, d.Zxid = j.ID, e.Zxid
		j.Recorder.Record(d)
	}
	j.record(parts)
}

func (j *watcherSeat) record(all []metrics.Sample) {
	for _, s := range all {
		j.Recorder.Record(s)
	}
}

// writerState is what the session that changes the znode knows of it, kept across its ZooKeeper sessions.
type writerState struct {
	zxid  int64   // of the last change; 0: not known
	there bool    // whether the znode that is created and deleted exists
	doubt *fanOut // a change that may have been made

	expelled time.Duration // no watch is waited for any longer for changes issued up to then
}

// watchWriter is the seat of the session that makes the changes.
type watchWriter struct {
	Seat
	w *watchLoad
	s zk.Session
}

// Do makes one change. In a closed loop it then waits until all watchers have the event and watch again.
func (j *watchWriter) Do(ctx context.Context, due time.Duration) error {
	if j.w.writer.zxid == 0 {
		j.until(ctx, j.w.allArmed())
	}
	s := metrics.Sample{Op: metrics.Change, Session: j.ID, Due: due, Start: j.Origin.Now()}
	if st := &j.w.writer; st.zxid == 0 || st.doubt != nil {
		if err := j.settle(ctx); err != nil {
			s.End, s.Outcome = j.Origin.Now(), outcome(ctx, err)
			j.Recorder.Record(s)
			return j.Session.Err()
		}
		s.Start = j.Origin.Now()
	}
	out := j.w.issue(due, s.Start, j.w.once, j.w.watchers)
	s.Value = out.number
	err := j.change(ctx, out)
	s.End, s.Outcome = j.Origin.Now(), outcome(ctx, err)
	switch st := &j.w.writer; {
	case st.doubt != nil:
		if s.Outcome == metrics.Failed || s.Outcome == metrics.Unfinished {
			s.Outcome = metrics.InDoubt
		}
	case j.w.zxidOf(out) > 0:
		if s.Token = j.w.zxidOf(out); s.Outcome == metrics.Failed { // the reply was lost, but the znode shows that the change was made
			s.Outcome = metrics.OK
		}
	default:
		s.Outcome = metrics.Failed
	}
	j.Recorder.Record(s)
	if j.w.Open {
		j.expel(s.End - j.w.Stall)
	} else if s.Token != 0 {
		j.reached(ctx, out)
	}
	return j.Session.Err()
}

// reached waits until a change has reached all watchers and all watch again.
func (j *watchWriter) reached(ctx context.Context, out *fanOut) {
	if !j.until(ctx, out.done) {
		if ctx.Err() != nil {
			return
		}
		now := j.Origin.Now()
		j.w.giveUp(out, now, j.Recorder)
		j.expel(now)
	}
	j.until(ctx, j.w.allArmed())
}

// expel gives up one-shot watches that have received no event of changes issued before an offset. It does so at most a few times per Stall.
func (j *watchWriter) expel(issued time.Duration) {
	if st := &j.w.writer; j.w.once && issued >= st.expelled+j.w.Stall/4 {
		st.expelled = issued
		j.w.fanOuts.expel(issued, j.w.watchers)
	}
}

// until waits for done, for at most Stall. It returns false if that did not happen.
func (j *watchWriter) until(ctx context.Context, done <-chan struct{}) bool {
	t := time.NewTimer(j.w.Stall)
	defer t.Stop()
	select {
	case <-done:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// change makes a change. If the reply is lost, it finds out whether the change was made.
func (j *watchWriter) change(ctx context.Context, out *fanOut) error {
	st := &j.w.writer
	actx, cancel := within(ctx, j.w.Deadline)
	defer cancel()
	r := &zk.Reply{Context: actx}
	var err error
	switch {
	case !j.w.comes:
		_, err = j.s.Set(r, j.w.node(), make([]byte, j.w.Int(watchedBytes)), zk.AnyVersion)
	case st.there:
		err = j.s.Delete(r, j.w.node(), zk.AnyVersion)
	default:
		_, err = j.s.Create(r, j.w.node(), nil, zk.Persistent)
	}
	if err == nil && r.Zxid != 0 {
		st.zxid, st.there = r.Zxid, !st.there
		j.w.made(out, r.Zxid)
		return nil
	}
	st.doubt = out
	if found := j.settle(ctx); found != nil {
		return errors.Join(err, found)
	}
	return err
}

// settle finds out which change was the last, and thereby whether one in doubt was made.
func (j *watchWriter) settle(ctx context.Context) error {
	if err := zk.CatchUp(ctx, j.s, j.w.at()); err != nil {
		return err
	}
	path := j.w.node()
	if j.w.comes {
		path = j.w.at()
	}
	is, there, err := j.s.Exists(ctx, path)
	switch {
	case err != nil:
		return err
	case !there:
		return &zk.Error{Op: zk.KindExists, Path: path, Err: zk.ErrNoNode}
	}
	st, last := &j.w.writer, is.Mzxid
	if j.w.comes {
		last = is.Pzxid
	}
	if st.doubt != nil && last > st.zxid {
		j.w.made(st.doubt, last)
	} else if st.doubt != nil {
		j.w.void(st.doubt)
	}
	st.zxid, st.there, st.doubt = last, is.NumChildren > 0, nil
	return nil
}
