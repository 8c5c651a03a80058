package metrics

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Steady is the steady phase of a cell: the half-open time [From, To) of offsets from the Origin. The zero value is empty.
//
// In a closed loop a sample belongs to it when its End lies within, so that throughput counts what was finished in the time that it is divided by. In an open
// loop (ByDue) a sample belongs to it when its Due lies within: work that was offered in the steady phase counts towards it however late it ends, and a stall
// at the end of the phase cannot hide.
type Steady struct {
	From, To time.Duration
	ByDue    bool
}

// Ended reports whether s ended in the steady phase, whenever it was due.
func (w Steady) Ended(s Sample) bool { return w.From <= s.End && s.End < w.To }

// Contains reports whether s belongs to the steady phase.
func (w Steady) Contains(s Sample) bool {
	at := s.End
	if w.ByDue {
		at = s.Due
	}
	return w.From <= at && at < w.To
}

// Interval is what was recorded between two calls of Rotate. A sample is in exactly one interval: the one in which it was
// recorded, which is the one of its End or a later one, mostly the next, if the rotation came in between. Intervals add up to the totals.
type Interval struct {
	From, To time.Duration
	Steady   *Set // samples of the steady phase
	Other    *Set // samples of the warm-up and of the drain
}

// All returns both phases together.
func (i Interval) All() *Set {
	all := &Set{}
	all.Merge(i.Steady)
	all.Merge(i.Other)
	return all
}

// Collector turns the samples of many sessions into intervals and totals. Shards, not sessions, own histograms, because one histogram takes up to 190
// KiB and there are thousands of sessions.
//
// Recording takes an uncontended lock and allocates nothing: BenchmarkCollectorRecord. Rotate exchanges the tables of each shard for empty ones under
// its lock and adds them up outside, so recording never waits for a merge.
type Collector struct {
	shards []*shard
	steady atomic.Pointer[Steady]

	mu     sync.Mutex // serializes Rotate, Begin and Totals
	from   time.Duration
	totals *Set
}

// NewCollector creates a collector with this many shards; below 1 means one per CPU.
func NewCollector(shards int) *Collector {
	if shards < 1 {
		shards = runtime.GOMAXPROCS(0)
	}
	c := &Collector{shards: make([]*shard, shards), totals: &Set{}}
	c.steady.Store(&Steady{})
	for i := range c.shards {
		c.shards[i] = &shard{steady: &c.steady, active: &tables{}, spare: &tables{}}
	}
	return c
}

// Shard returns the recorder of session i: shard i modulo the number of shards. It is safe for concurrent use, but is cheapest when the sessions are spread
// evenly.
func (c *Collector) Shard(i int) Recorder { return c.shards[i%len(c.shards)] }

// SetSteady sets the steady phase, for the samples recorded from now on. Call it before the first sample that may belong to it; samples recorded earlier stay where they are.
func (c *Collector) SetSteady(w Steady) { c.steady.Store(&w) }

// SetSteadyAt sets the steady phase to the result of now, which is called while nothing is recorded: samples recorded before that call ended before it, and
// later ones are filed by the new phase, however late this goroutine is. now must neither record nor rotate.
func (c *Collector) SetSteadyAt(now func() Steady) {
	for _, s := range c.shards {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	c.SetSteady(now())
}

// Begin starts a cell at now: the totals are empty again, and what was recorded since the last Rotate is discarded. Call it while no session records.
func (c *Collector) Begin(now time.Duration, w Steady) {
	c.Rotate(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.totals = &Set{}
	c.SetSteady(w)
}

// Rotate ends the interval that started with the last Rotate or Begin, and returns it. The interval belongs to the caller.
func (c *Collector) Rotate(now time.Duration) Interval {
	c.mu.Lock()
	defer c.mu.Unlock()
	iv := Interval{From: c.from, To: now, Steady: &Set{}, Other: &Set{}}
	for _, s := range c.shards {
		full := s.exchange()
		full.steady.pour(iv.Steady, c.totals)
		full.other.pour(iv.Other)
	}
	c.from = now
	return iv
}

// Totals returns the sum of the steady phase over all intervals since Begin. The caller gets a copy. Samples recorded after the last Rotate are not
// included: rotate once more when the sessions have finished.
func (c *Collector) Totals() *Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &Set{}
	t.Merge(c.totals)
	return t
}

// shard is the part of a Collector that some of the sessions record into.
type shard struct {
	steady *atomic.Pointer[Steady]

	mu     sync.Mutex
	active *tables
	spare  *tables // empty; used only by Rotate
	_      [64]byte
}

type tables struct{ steady, other table }

func (s *shard) Record(m Sample, parts ...Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	steady := s.steady.Load() // under the lock: see SetSteadyAt
	to := &s.active.other
	if steady.Contains(m) {
		to = &s.active.steady
	}
	ended := steady.Ended(m)
	s.file(to, &m, ended)
	for i := range parts {
		s.file(to, &parts[i], ended)
	}
}

// file adds a sample. A success that ended in the steady phase is counted as done there, wherever the sample is filed.
func (s *shard) file(to *table, m *Sample, ended bool) {
	to.add(m)
	if op, outcome := known(m); ended && outcome == OK {
		s.active.steady.done[op]++
	}
}

// exchange replaces the full tables with the empty ones and returns the full ones, for the caller to empty before the next call.
func (s *shard) exchange() *tables {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active, s.spare = s.spare, s.active
	return s.spare
}

// table is a Set to record into. The memory of its histograms is kept.
type table struct {
	punctual   [Ops]Histogram            // of successes that started when they were due: the response is the service time, and there is no lag
	histograms [2][Ops][Clocks]Histogram // of the other served operations, and of the unserved ones
	outcomes   [Ops][Outcomes]int64
	done       [Ops]int64
}

func (t *table) add(m *Sample) {
	op, outcome := known(m)
	t.outcomes[op][outcome]++
	unserved := outcome.unserved()
	if outcome != OK && (!unserved || !op.Has(Response)) {
		return
	}
	if outcome == OK && m.Start == m.Due && op.Has(Response) {
		t.punctual[op].Record(m.Service())
		return
	}
	if !unserved || m.begun() {
		t.at(Key{op, Service, unserved}).Record(m.Service())
	}
	if op.Has(Response) {
		t.at(Key{op, Response, unserved}).Record(m.Response())
		t.at(Key{op, Lag, unserved}).Record(m.Lag())
	}
}

func (t *table) at(k Key) *Histogram { return &t.histograms[k.side()][k.Op][k.Clock] }

// pour moves everything into each of the sets.
func (t *table) pour(sets ...*Set) {
	for key := range keys {
		if from := t.at(key); !from.empty() {
			for _, s := range sets {
				s.at(key).Merge(from)
			}
			from.reset()
		}
	}
	for op := range Op(Ops) {
		if from := &t.punctual[op]; !from.empty() {
			for _, s := range sets {
				s.at(Key{Op: op, Clock: Response}).Merge(from)
				s.at(Key{Op: op, Clock: Service}).Merge(from)
				s.at(Key{Op: op, Clock: Lag}).add(slot(0), from.n+from.overflow+from.negative)
			}
			from.reset()
		}
	}
	for _, s := range sets {
		s.count(&t.outcomes, &t.done)
	}
	t.outcomes, t.done = [Ops][Outcomes]int64{}, [Ops]int64{}
}
