package workloads

import (
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// watcherState is what fanOuts knows of a watcher. fanOuts guards it.
type watcherState struct {
	armed bool
	token int64         // the transaction whose state it was armed in
	from  int64         // the last change issued when the watch was armed, or the change of its last event
	late  chan struct{} // for a one-shot watch, with capacity 1: its event has been given up
}

// fanOuts tracks the changes that are on their way to the watchers. It may be used from many goroutines.
type fanOuts struct {
	mu      sync.Mutex
	unarmed int               // watchers whose watch is not armed
	all     chan struct{}     // closed when unarmed is 0; nil: nobody waits for that
	last    int64             // the last change issued
	zxids   map[int64]int64   // by number, of changes whose result is known; below 0: the change was not made
	open    map[int64]*fanOut // by number
}

func newFanOuts(watchers int) *fanOuts {
	return &fanOuts{unarmed: watchers, zxids: map[int64]int64{}, open: map[int64]*fanOut{}}
}

// allArmed returns a channel that is closed when all watches are armed.
func (f *fanOuts) allArmed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make(chan struct{})
	if f.unarmed == 0 {
		close(all)
	} else {
		f.all = all
	}
	return all
}

// set notes whether a watch is armed.
func (f *fanOuts) set(w *watcherState, armed bool) {
	if w.armed == armed {
		return
	}
	if w.armed = armed; !armed {
		f.unarmed++
		return
	}
	if f.unarmed--; f.unarmed == 0 && f.all != nil {
		close(f.all)
		f.all = nil
	}
}

// fanOut is one change on its way.
type fanOut struct {
	number      int64
	due, issued time.Duration
	left        int             // watchers that were armed when it was issued and have not received the event
	delivered   []time.Duration // when the event came, by watcher
	partial     bool            // an armed watcher has lost its connection: which watcher is last is not known
	done        chan struct{}   // closed when left reaches 0
}

// issue starts a change.
func (f *fanOuts) issue(due, now time.Duration, once bool, watchers []watcherState) *fanOut {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &fanOut{number: f.last + 1, due: due, issued: now, done: make(chan struct{})}
	for i := range watchers {
		if w := &watchers[i]; w.armed && (!once || w.from == f.last) {
			out.left++
		}
	}
	if f.last++; out.left == 0 {
		close(out.done)
	}
	f.open[out.number] = out
	return out
}

// made notes the transaction of a change, and forgets changes that are long past.
func (f *fanOuts) made(out *fanOut, zxid int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.zxids[out.number] = zxid
	delete(f.zxids, out.number-remembered)
	delete(f.open, out.number-remembered)
}

// remembered is the number of later changes after which a change is forgotten and its events are no longer timed.
const remembered = 1000

// void notes that a change was not made.
func (f *fanOuts) void(out *fanOut) {
	f.made(out, -1)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, out.number)
}

// zxidOf returns the transaction of a change; 0: not known, below 0: the change was not made.
func (f *fanOuts) zxidOf(out *fanOut) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.zxids[out.number]
}

// giveUp records that the event of a change has not reached all watchers. Nobody waits for it any longer.
func (f *fanOuts) giveUp(out *fanOut, at time.Duration, r metrics.Recorder) {
	f.mu.Lock()
	late := *out
	out.left = 0
	f.mu.Unlock()
	if late.left > 0 {
		late.unserved(metrics.Timeout, at, r)
	}
}

// armedAt notes that a watch has been armed in the state of a transaction.
func (f *fanOuts) armedAt(w *watcherState, zxid int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.token, w.from = zxid, f.last
	select {
	case <-w.late: // it was about the previous watch
	default:
	}
	f.set(w, true)
}

// expel gives up the one-shot watches that have received no event of a change issued before the given offset: unless they are armed again, they never
// will.
func (f *fanOuts) expel(issued time.Duration, watchers []watcherState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var made int64 // the last of these changes
	for n, of := range f.open {
		if of.issued <= issued {
			made = max(made, f.zxids[n])
		}
	}
	for i := range watchers {
		if w := &watchers[i]; w.armed && w.token < made {
			f.set(w, false)
			select {
			case w.late <- struct{}{}:
			default:
			}
		}
	}
}

// deliver notes that a watcher, whose watch was armed in the state of a transaction, has received an event. It finds the change by the zxid of the
// event, or else takes the first change after that state and after the last one delivered. The caller records the parts; of is nil if there is no
// such change.
func (f *fanOuts) deliver(w *watcherState, armed, zxid int64, last *int64, once bool, at time.Duration) (of *fanOut, parts []metrics.Sample) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := max(*last+1, f.last-remembered, 1); n <= f.last && of == nil; n++ {
		made, known := f.zxids[n]
		if known && made > armed && (zxid == 0 || made == zxid) || !known {
			of = f.open[n]
			*last = n
		}
	}
	if once {
		defer f.set(w, false)
	}
	if of == nil {
		return nil, nil
	}
	of.delivered = append(of.delivered, at)
	if w.armed && (once && of.number == w.from+1 || !once && of.number > w.from) {
		parts = f.less(of)
	}
	w.from = max(w.from, of.number)
	return of, parts
}

// disarm notes that a watcher has lost its watch or its connection: nobody waits for the events that it has not received.
func (f *fanOuts) disarm(w *watcherState, once bool) (parts []metrics.Sample) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !w.armed {
		return nil
	}
	f.set(w, false)
	for n := w.from + 1; n <= f.last && (!once || n == w.from+1); n++ {
		if of := f.open[n]; of != nil && of.left > 0 {
			of.partial = true
			parts = append(parts, f.less(of)...)
		}
	}
	return parts
}

// less notes that one watcher fewer has yet to receive the event. After the last one, it returns the times of the first, the median and the last
// event.
func (f *fanOuts) less(of *fanOut) (parts []metrics.Sample) {
	if of.left == 0 { // it has been given up
		return nil
	}
	if of.left--; of.left > 0 {
		return nil
	}
	if close(of.done); len(of.delivered) == 0 {
		return nil
	}
	slices.Sort(of.delivered)
	n := len(of.delivered)
	parts = []metrics.Sample{of.part(metrics.FirstEvent, metrics.OK, of.delivered[0]), of.part(metrics.MedianEvent, metrics.OK, of.delivered[(n-1)/2])}
	if !of.partial {
		parts = append(parts, of.part(metrics.LastEvent, metrics.OK, of.delivered[n-1]))
	}
	return parts
}

// part returns one measure of the change.
func (o *fanOut) part(op metrics.Op, outcome metrics.Outcome, end time.Duration) metrics.Sample {
	return metrics.Sample{Op: op, Outcome: outcome, Value: o.number, Due: o.due, Start: o.issued, End: max(end, o.issued)}
}

// pending returns the changes that have not reached all watchers, by number.
func (f *fanOuts) pending() (all []fanOut) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, out := range f.open {
		if out.left > 0 {
			all = append(all, *out)
		}
	}
	slices.SortFunc(all, func(a, b fanOut) int { return int(a.number - b.number) })
	return all
}

// unserved records that the event has not reached all watchers.
func (o fanOut) unserved(outcome metrics.Outcome, at time.Duration, r metrics.Recorder) {
	for range o.left {
		r.Record(o.part(metrics.Deliver, outcome, at))
	}
	r.Record(o.part(metrics.LastEvent, outcome, at))
}
