package workloads

import (
	"sync"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// StillWaiting records the items that have been put but not taken, including those whose put was cut by the end of the run.
func (w *queue) StillWaiting(at time.Duration, r metrics.Recorder) {
	if !w.passed {
		return
	}
	for _, put := range w.inQueue.all() {
		if put.End <= at {
			put.Op, put.Outcome, put.Token, put.End = metrics.PutToTake, metrics.Unfinished, 0, at
			r.Record(put)
		}
	}
}

// inQueue holds the puts of the items that may be in a queue, by Value. Preloaded items are not among them. It may be used from many goroutines.
type inQueue struct {
	mu   sync.Mutex
	puts map[int64]underWay
}

type underWay struct {
	metrics.Sample
	expected bool // the item is in the queue, or would be if the end of the run had not cut its put; otherwise nobody knows
}

// begin notes a put that is about to start: the item may be taken before its put has ended.
func (w *inQueue) begin(put metrics.Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.puts == nil {
		w.puts = map[int64]underWay{}
	}
	w.puts[put.Value] = underWay{Sample: put}
}

// end notes how a put ended, unless its item has been taken already. A failed put has put nothing. cut says that the run ended before the put
// did.
func (w *inQueue) end(put metrics.Sample, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.puts[put.Value]; !there {
		return
	}
	if put.Outcome == metrics.Failed {
		delete(w.puts, put.Value)
		return
	}
	w.puts[put.Value] = underWay{put, put.Outcome == metrics.OK || cut}
}

// take returns the put of an item that is taken for the first time; false for one that was taken before or was preloaded.
func (w *inQueue) take(value int64) (put metrics.Sample, first bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, first := w.puts[value]
	delete(w.puts, value)
	return p.Sample, first
}

// all returns the puts of the items that are expected to come out of the queue.
func (w *inQueue) all() (puts []metrics.Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.puts {
		if p.expected {
			puts = append(puts, p.Sample)
		}
	}
	return puts
}
