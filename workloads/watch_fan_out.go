package workloads

import (
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// watcherState is what the fan-out knows of a watcher. fanOuts guards it.
type watcherState struct {
	armed bool
	token int64         // the transaction in whose state it was armed
	from  int64         // the change that had been issued last when the watch was armed, or of which it told last
	late  chan struct{} // of a one-shot watch, with room for one: its event has been given up
}

// fanOuts are the changes that are on their way to the watchers. It may be used from many goroutines.
type fanOuts struct {
	mu      sync.Mutex
	unarmed int               // watchers whose watch is not armed
	all     chan struct{}     // closed when there are none; nil: nobody waits for that
	last    int64             // the change that was issued last
	zxids   map[int64]int64   // of changes whose fate is known, by number; below 0: it was not made
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
	left        int             // watchers that were armed when it was issued and have not been told
	told        []time.Duration // when the event came, by whom it came to
	partial     bool            // one that was armed has lost its connection: who is last is not known
	done        chan struct{}   // closed when nobody is left
}

// issue begins a change.
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

// made notes the transaction of a change. What is long past is forgotten.
func (f *fanOuts) made(out *fanOut, zxid int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.zxids[out.number] = zxid
	delete(f.zxids, out.number-remembered)
	delete(f.open, out.number-remembered)
}

// remembered is for how many changes after it a change is timed when an event tells of it.
const remembered = 1000

// void notes that a change was not made.
func (f *fanOuts) void(out *fanOut) {
	f.made(out, -1)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, out.number)
}

// zxidOf is the transaction of a change; 0: not known, below 0: it was not made.
func (f *fanOuts) zxidOf(out *fanOut) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.zxids[out.number]
}

// giveUp records that the event of a change has not come to all, for which nobody waits any more.
func (f *fanOuts) giveUp(out *fanOut, at time.Duration, r metrics.Recorder) {
	f.mu.Lock()
	late := *out
	out.left = 0
	f.mu.Unlock()
	if late.left > 0 {
		late.unserved(metrics.Timeout, at, r)
	}
}

// armedAt notes that a watch has been armed, in the state of a transaction.
func (f *fanOuts) armedAt(w *watcherState, zxid int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.token, w.from = zxid, f.last
	select {
	case <-w.late: // it was about the watch before
	default:
	}
	f.set(w, true)
}

// expel gives up the one-shot watches that have not told of a change that was issued by some time: they have to be armed again, or would tell of none.
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

// tell notes that an event has come to a watcher whose watch was armed in the state of a transaction, and finds the change: by the zxid of the
// event, or else as the first after that state and after the last that was told. The parts are to be recorded; nil: there is no such change.
func (f *fanOuts) tell(w *watcherState, armed, zxid int64, told *int64, once bool, at time.Duration) (of *fanOut, parts []metrics.Sample) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := max(*told+1, f.last-remembered, 1); n <= f.last && of == nil; n++ {
		made, known := f.zxids[n]
		if known && made > armed && (zxid == 0 || made == zxid) || !known {
			of = f.open[n]
			*told = n
		}
	}
	if once {
		defer f.set(w, false)
	}
	if of == nil {
		return nil, nil
	}
	of.told = append(of.told, at)
	if w.armed && (once && of.number == w.from+1 || !once && of.number > w.from) {
		parts = f.less(of)
	}
	w.from = max(w.from, of.number)
	return of, parts
}

// disarm notes that a watcher has lost its watch, or its connection: what it has not been told is nothing to wait for.
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

// less notes that a watcher fewer has to be told. When it was the last, there are the times of the first, the median and the last.
func (f *fanOuts) less(of *fanOut) (parts []metrics.Sample) {
	if of.left == 0 { // it has been given up
		return nil
	}
	if of.left--; of.left > 0 {
		return nil
	}
	if close(of.done); len(of.told) == 0 {
		return nil
	}
	slices.Sort(of.told)
	n := len(of.told)
	parts = []metrics.Sample{of.part(metrics.FirstEvent, metrics.OK, of.told[0]), of.part(metrics.MedianEvent, metrics.OK, of.told[(n-1)/2])}
	if !of.partial {
		parts = append(parts, of.part(metrics.LastEvent, metrics.OK, of.told[n-1]))
	}
	return parts
}

// part is one figure of the change.
func (o *fanOut) part(op metrics.Op, outcome metrics.Outcome, end time.Duration) metrics.Sample {
	return metrics.Sample{Op: op, Outcome: outcome, Value: o.number, Due: o.due, Start: o.issued, End: max(end, o.issued)}
}

// pending are the changes that have not come to all, by number.
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

// unserved records that the event has not come to all.
func (o fanOut) unserved(outcome metrics.Outcome, at time.Duration, r metrics.Recorder) {
	for range o.left {
		r.Record(o.part(metrics.Deliver, outcome, at))
	}
	r.Record(o.part(metrics.LastEvent, outcome, at))
}
