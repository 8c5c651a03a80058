package workloads

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
	"github.com/zkbench/zkbench/zk"
)

// Replaying is a Workload that repeats a recording, and knows how faithfully it did.
type Replaying interface {
	Workload
	// Fidelity compares what was sent, and answered, with the recording.
	Fidelity() Fidelity
}

// Fidelity says how far a replay was like its recording.
type Fidelity struct {
	Speed    float64 // 0: as fast as the order allows
	Due      int64   // requests of the recording that were due, without those that cannot be sent
	Unsent   int64   // of these, those that were not sent
	Differ   []Difference
	Unmapped int64 // requests that named a znode whose create had failed
	Late     int64 // requests that were sent more than LateAfter after they were due, at a speed that is not 0
	Waits    int64 // requests that waited for those of other sessions
	Waited   time.Duration
	Lag      *metrics.Histogram // from when requests were due to when they were sent
	LeftOut  map[string]int     // requests of one replay of the recording that cannot be sent, by kind
	Replaced map[string]int     // requests of one replay that are sent as others, by kind
	// Divergent counts the requests that were not sent, not sent in time, or answered differently, with those of LeftOut in proportion, and Of the requests that
	// were due, with those.
	Divergent, Of int64
	First         []Divergence // the first divergences
	Drawn         int64        // reads whose kinds and paths were not recorded, in one replay
	Sessions      int64        // recorded sessions, in one replay
	Expiries      int64        // of these, those that expired
	Vanished      int64        // sessions that were left to expire
	Timeouts      int64        // sessions that got another timeout than the recorded one
	Events        int64        // watch events that were recorded in one replay
	Received      int64        // watch events that arrived
}

// LateAfter is how late a request may be before it counts as a divergence: it is then not in its second.
const LateAfter = time.Second

// Tolerated is the share of divergent requests up to which a replay is faithful.
const Tolerated = 0.01

// Difference is how often answers of a kind differ in the same way.
type Difference struct {
	What, Want, Got string
	Count           int64
}

// Divergence is one request that differs from its recording.
type Divergence struct {
	At        time.Duration // when it was due
	Session   int           // recorded
	What      string
	Path      string // recorded
	Want, Got string
}

// ShownDivergences is how many divergences are kept.
const ShownDivergences = 10

// fidelity is a Fidelity in the making. It may be used from many goroutines.
type fidelity struct {
	due, unsent, unmapped, late, waits, waited, vanished, timeouts, events, bad atomic.Int64

	mu     sync.Mutex
	lag    *metrics.Histogram
	differ map[Difference]int64
	first  []Divergence
}

// lagged counts the lag of a request, and reports whether it is late.
func (f *fidelity) lagged(d time.Duration) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lag.Record(d)
	if d <= LateAfter {
		return false
	}
	f.late.Add(1)
	return true
}

// diverge counts a divergence.
func (f *fidelity) diverge(d Divergence) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.differ == nil {
		f.differ = map[Difference]int64{}
	}
	f.differ[Difference{What: d.What, Want: d.Want, Got: d.Got}]++
	if len(f.first) < ShownDivergences {
		f.first = append(f.first, d)
	}
}

// Fidelity compares what was sent and answered with the recording.
func (w *replays) Fidelity() Fidelity {
	f := &w.fidelity
	f.mu.Lock()
	defer f.mu.Unlock()
	out := Fidelity{Due: f.due.Load(), Unsent: f.unsent.Load(), Unmapped: f.unmapped.Load(), Late: f.late.Load(), Waits: f.waits.Load(), Waited: time.Duration(f.waited.Load()),
		Lag: f.lag, LeftOut: w.plan.LeftOut, Replaced: w.plan.Replaced, First: slices.Clone(f.first), Drawn: int64(w.plan.Drawn), Sessions: int64(w.plan.Sessions),
		Expiries: int64(w.plan.Expiries), Vanished: f.vanished.Load(), Timeouts: f.timeouts.Load(), Events: int64(w.plan.Events), Received: f.events.Load()}
	if w.Open {
		out.Speed = w.speed
	}
	for d, n := range f.differ {
		d.Count = n
		out.Differ = append(out.Differ, d)
	}
	slices.SortFunc(out.Differ, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.What+a.Want+a.Got, b.What+b.Want+b.Got))
	})
	left := 0
	for _, n := range w.plan.LeftOut {
		left += n
	}
	leftOut := int64(float64(left) * float64(out.Due) / float64(w.plan.Requests))
	out.Divergent, out.Of = out.Unsent+f.bad.Load()+leftOut, out.Due+leftOut
	return out
}

// codeOf returns what an answer is called: "ok", or the reason of an error without the path.
func codeOf(err error) string {
	if err == nil {
		return "ok"
	}
	var e *zk.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	return err.Error()
}

// Notes says what of the trace was not recorded, or cannot be sent as it was.
func (w *replays) Notes(iter.Seq[metrics.Sample], *spill.Room) []string {
	var all []string
	if n := w.plan.Drawn; n > 0 {
		all = append(all, fmt.Sprintf("the trace has only the number of %s: their kinds are drawn (%s: %s), and their znodes from those that the session had used",
			phrase.Count(n, "read"), readKinds.Key, w.Shares(readKinds)))
	}
	return all
}
