package workloads

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// identityBytes is the size of the prefix of each item: the stamp of the cell and the item's Value.
const identityBytes = 16

// item makes the next item of a session. The upper half of its Value is what it is ordered by: the priority, or the offset from which on it may
// be taken, in milliseconds. The lower half is a number, from 1, that no item of another session has, in any process.
func (w *queue) item(r *rand.Rand, session int, due time.Duration) (recipes.Item, int64) {
	it := recipes.Item{Data: make([]byte, w.payload)}
	upper := int32(due / time.Millisecond)
	if w.priorities > 0 {
		it.Priority = int32(r.IntN(w.priorities) - w.priorities/2)
		upper = it.Priority
	}
	value := int64(upper)<<32 + w.items[session]*int64(len(w.items)) + int64(session) + 1
	w.items[session]++
	binary.BigEndian.PutUint64(it.Data, w.stamp)
	binary.BigEndian.PutUint64(it.Data[8:], uint64(value))
	return it, value
}

// stranger is the Value of an item that does not belong to the cell.
const stranger = math.MaxInt64

// valueOf returns the Value of an item that was taken.
func (w *queue) valueOf(data []byte) int64 {
	if len(data) != w.payload || binary.BigEndian.Uint64(data) != w.stamp {
		return stranger
	}
	return int64(binary.BigEndian.Uint64(data[8:]))
}

// priorityOf returns an item's rank in the order of taking; in a delay queue, earlier is better.
func priorityOf(value int64) int32 { return int32(value >> 32) }

// queueSeat is the seat of a producer or a consumer.
type queueSeat struct {
	Seat
	w        *queue
	object   uint32
	handle   recipes.Queue
	claimer  recipes.Claimer // the handle, if items are claimed
	requests *lastRequests
	again    int // how often the create of a put was repeated although it may have been applied
}

// Join returns the session's step as a producer or a consumer.
func (w *queue) Join(seat Seat) Step {
	w.recordOnce.Do(func() {
		for _, put := range w.preloaded {
			seat.Recorder.Record(put)
		}
	})
	j := &queueSeat{Seat: seat, w: w, object: seat.ID % uint32(w.n), requests: &lastRequests{meter: seat.meter()}}
	o := w.options
	o.Pick = seat.Rand.IntN
	o.Clock = func() time.Time { return seat.Origin.Time(seat.Origin.Now()) } // one clock for all sessions, which nobody sets while they run
	o.Trace = &recipes.Trace{PutAgain: func() { j.again++ }}
	j.handle = w.variant.New(j.requests.observe(seat.Session, j.requests), w.path(j.object), o)
	switch {
	case w.produces(seat.ID):
		return StepFunc(j.put)
	case w.claims():
		claimer, ok := j.handle.(recipes.Claimer)
		if !ok {
			return StepFunc(func(context.Context, time.Duration) error {
				return fmt.Errorf("variant %s declares that it claims items, but cannot", w.variant.Name)
			})
		}
		j.claimer = claimer
		return StepFunc(j.claim)
	}
	return StepFunc(j.take)
}

// begin returns the sample of an operation and its context.
func (j *queueSeat) begin(ctx context.Context, op metrics.Op, due time.Duration) (metrics.Sample, context.Context, context.CancelFunc) {
	s := metrics.Sample{Op: op, Session: j.ID, Object: j.object, Due: due, Start: start(j.w.Open, due, j.Origin)}
	ctx, cancel := within(ctx, j.w.Deadline)
	return s, ctx, cancel
}

func (j *queueSeat) put(ctx context.Context, due time.Duration) error {
	var from time.Duration
	if j.w.delay != nil { // in whole milliseconds, so that the order of the Values is that of the names
		from = (j.Origin.Now() + j.w.delay(j.Rand) + time.Millisecond - 1).Truncate(time.Millisecond)
	}
	it, value := j.w.item(j.Rand, int(j.ID), from)
	if from > 0 {
		it.Due = j.Origin.Time(from)
	}
	s, actx, cancel := j.begin(ctx, metrics.Put, due)
	defer cancel()
	s.Value = value
	j.w.inQueue.begin(s)
	j.again = 0
	it, err := j.handle.Put(actx, it)
	s.End = j.Origin.Now()
	s.Outcome, s.Token = outcome(ctx, err), it.Czxid
	j.w.inQueue.end(s, ctx.Err() != nil)
	j.w.account(s)
	j.Recorder.Record(s)
	for range j.again { // each retry may have put the item once more
		s.Outcome, s.Token = metrics.InDoubt, 0
		j.Recorder.Record(s)
	}
	return j.over()
}

// over returns the error of the session if it has ended, and remembers that.
func (j *queueSeat) over() error {
	err := j.Session.Err()
	if err != nil {
		j.w.lost.Store(true)
	}
	return err
}

func (j *queueSeat) take(ctx context.Context, due time.Duration) error {
	s, actx, cancel := j.begin(ctx, metrics.Take, due)
	defer cancel()
	it, err := j.handle.Take(actx)
	s.End = j.Origin.Now()
	s.Outcome = outcome(ctx, err)
	var doubt *recipes.InDoubtError
	switch {
	case err == nil:
		s.Value, s.Token = j.w.valueOf(it.Data), it.Czxid
	case errors.As(err, &doubt) && doubt.Item.Data != nil: // for a driver, nobody knows which item it was
		s.Value, s.Token = j.w.valueOf(doubt.Item.Data), doubt.Item.Czxid
		j.came(s)
	}
	j.w.account(s)
	switch {
	case err != nil:
		j.Recorder.Record(s, j.idle(s)...)
		return j.over()
	case j.w.Foreign != nil:
		j.Recorder.Record(s)
		j.came(s)
		j.work(ctx, nil)
		return j.over()
	}
	list, removal := j.requests.last()
	remove := part(s, metrics.Remove, it.Czxid, removal)
	remove.Zxid = removal.zxid
	j.Recorder.Record(s, part(s, metrics.Choose, it.AsOf, list), remove)
	j.came(s)
	j.work(ctx, nil)
	return j.over()
}

// came records the put-to-take time of an item, filed by when its put was due: it is not part of the take. If the take is in doubt, all that
// will ever be known is that nobody had the item by then.
func (j *queueSeat) came(take metrics.Sample) {
	put, first := j.w.inQueue.take(take.Value)
	if !first || !j.w.passed {
		return
	}
	if take.Outcome != metrics.OK {
		take.Outcome = metrics.Unfinished
	}
	take.Op, take.Token, take.Due, take.Start = metrics.PutToTake, 0, put.Due, put.Start
	j.Recorder.Record(take)
}

// part returns the sample of a phase of an operation.
func part(whole metrics.Sample, op metrics.Op, token int64, of during) metrics.Sample {
	whole.Op, whole.Token, whole.Due, whole.Start, whole.End = op, token, of.from, of.from, of.to
	return whole
}

func (j *queueSeat) claim(ctx context.Context, due time.Duration) error {
	s, actx, cancel := j.begin(ctx, metrics.Take, due)
	defer cancel()
	c, err := j.claimer.Claim(actx)
	s.End = j.Origin.Now()
	if _, dead := j.diedBefore(s.End); dead && err == nil {
		err = zk.ErrSessionExpired // nobody was left to receive it
	}
	s.Outcome = outcome(ctx, err)
	if err == nil {
		s.Value, s.Token = j.w.valueOf(c.Data), c.Token
	}
	if err != nil {
		j.Recorder.Record(s, j.idle(s)...)
		return j.over()
	}
	j.Recorder.Record(s)
	j.came(s)
	j.work(ctx, c.Lost)
	s.Op, s.Start = metrics.Finish, j.Origin.Now()
	if died, dead := j.diedBefore(s.Start); dead {
		s.Start = died
	}
	s.Due = s.Start
	// Finish the item even when the run is cut, but not for longer than the claim would live.
	fctx, stop := context.WithTimeout(context.WithoutCancel(ctx), j.Session.Timeout())
	defer stop()
	err = j.claimer.Finish(fctx, c)
	s.End = j.Origin.Now()
	s.Outcome = outcome(context.WithoutCancel(ctx), err)
	j.w.account(s)
	j.Recorder.Record(s)
	return j.over()
}

// idle returns lastRequests.idle if requests are visible.
func (j *queueSeat) idle(take metrics.Sample) []metrics.Sample {
	if j.w.Foreign != nil {
		return nil
	}
	return j.requests.idle(take)
}

// work stands for what a consumer does with an item. It ends early when the claim is lost or the run is cut.
func (j *queueSeat) work(ctx context.Context, lost <-chan struct{}) {
	work(ctx, j.w.holdFor(j.Rand), lost, nil)
}

// during is a span between two offsets.
type during struct {
	from, to time.Duration
	zxid     int64 // of the transaction; 0: unknown
}

// lastRequests remembers when a session last listed, last deleted, and last made a request or received an event; it also counts requests.
type lastRequests struct {
	meter

	mu             sync.Mutex
	listed, delete during
	busy           time.Duration // end of the last request, or the last event
}

// Ends notes what the call was.
func (l *lastRequests) Ends(c *zk.Call) {
	l.meter.Ends(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = max(l.busy, l.origin.At(c.End))
	switch c.Kind {
	case zk.KindChildren:
		l.listed = during{from: l.origin.At(c.Start), to: l.origin.At(c.End)}
	case zk.KindDelete:
		l.delete = during{from: l.origin.At(c.Start), to: l.origin.At(c.End)}
		if c.Err == nil {
			l.delete.zxid = c.Zxid
		}
	}
}

// Fires notes when an event came.
func (l *lastRequests) Fires(e zk.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = max(l.busy, l.origin.At(e.At))
}

// idle returns the end of a take that was not granted, during which no event made the consumer look again; nil if there was no such time.
func (l *lastRequests) idle(take metrics.Sample) []metrics.Sample {
	l.mu.Lock()
	defer l.mu.Unlock()
	take.Op, take.Start = metrics.Idle, max(l.busy, take.Start)
	if take.Due = take.Start; take.Start >= take.End {
		return nil
	}
	return []metrics.Sample{take}
}

func (l *lastRequests) last() (list, removal during) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listed, l.delete
}

// leftReaders is how many leftover items are read concurrently.
const leftReaders = 64

// readLeft records every item that is left in a queue, and that this is everything.
func (w *queue) readLeft(ctx context.Context, s zk.Session, r metrics.Recorder, object uint32) error {
	dir := w.itemsDir(object)
	names, st, err := s.Children(ctx, dir)
	if err != nil {
		return err
	}
	for i, name := range names {
		names[i] = dir + "/" + name
	}
	all, err := read(ctx, s, names)
	if err != nil {
		return fmt.Errorf("what is left: %w", err)
	}
	for _, z := range all {
		if z.Czxid == 0 {
			return fmt.Errorf("what is left: %s: %w", z.path, zk.ErrNoNode)
		}
		r.Record(metrics.Sample{Op: metrics.Remain, Object: object, Token: z.Czxid, Value: w.valueOf(z.data), Due: end, Start: end, End: end})
	}
	r.Record(metrics.Sample{Op: metrics.Remain, Object: object, Token: st.Pzxid, Due: end, Start: end, End: end})
	return nil
}

// end is the time of what is seen after the run.
const end = time.Duration(math.MaxInt64)
