package metrics

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// Clock says which of the three times of a sample a histogram holds.
type Clock uint8

// The clocks.
const (
	Response Clock = iota // End-Due
	Service               // End-Start
	Lag                   // Start-Due
	clocks
)

// Clocks is the number of clocks.
const Clocks = int(clocks)

func (c Clock) String() string {
	if c >= clocks {
		return fmt.Sprintf("clock(%d)", uint8(c))
	}
	return [...]string{"response", "service", "lag"}[c]
}

// Of returns the clock's time of one sample.
func (c Clock) Of(s Sample) time.Duration {
	switch c {
	case Response:
		return s.Response()
	case Service:
		return s.Service()
	}
	return s.Lag()
}

// Has reports whether a histogram of the operation by the clock is kept. Only an operation that a session sets out to do has a due time; the phases of an
// acquisition, hand-offs and deliveries follow from it and only have a service time.
func (o Op) Has(c Clock) bool {
	switch o {
	case OpNone, HandOff, Enqueue, List, Wait, Delivery, Recheck, Left, Deliver, Drain, Detect, Elect, Idle, Apply:
		return c == Service
	}
	return c < clocks
}

// Key names a histogram.
type Key struct {
	Op    Op
	Clock Clock
	// Unserved means that the times are not of successes, but of work that was abandoned before it was served, at its deadline or at the end of the run. Each
	// value is a lower bound of what the work would have taken.
	Unserved bool
}

// unserved is the suffix of a histogram of lower bounds.
const unserved = ".unserved"

// String returns operation.clock, such as acquire.response, or acquire.response.unserved: the key of latency_ms in run.json.
func (k Key) String() string {
	name := k.Op.String() + "." + k.Clock.String()
	if k.Unserved {
		name += unserved
	}
	return name
}

// side returns 1 for Unserved, otherwise 0.
func (k Key) side() int {
	if k.Unserved {
		return 1
	}
	return 0
}

// keys yields every possible key, in the order of Op and Clock, the served ones first.
func keys(yield func(Key) bool) {
	for op := range Op(Ops) {
		for c := range clocks {
			if !yield(Key{op, c, false}) || !yield(Key{op, c, true}) {
				return
			}
		}
	}
}

// ParseKey is the inverse of Key.String.
func ParseKey(s string) (Key, error) {
	for key := range keys {
		if key.String() == s {
			return key, nil
		}
	}
	return Key{}, fmt.Errorf("%q is not operation.clock", s)
}

// Set is the summary of a number of samples: a histogram of the successes per operation and clock, one of the lower bounds of what was not served,
// the number of samples with each outcome, and how many successes ended in the steady phase. Sets can be added. A Set is not safe for concurrent use;
// its zero value is empty.
type Set struct {
	histograms [2][Ops][Clocks]*Histogram // by Key.side
	outcomes   [Ops][Outcomes]int64
	done       [Ops]int64
}

// Histogram returns the histogram of an operation by a clock; an empty one if nothing was recorded. It belongs to the set.
func (s *Set) Histogram(op Op, c Clock) *Histogram { return s.of(Key{op, c, false}) }

// Unserved returns the lower bounds, by a clock, of what was abandoned before it was served; empty if nothing was. It belongs to the set.
func (s *Set) Unserved(op Op, c Clock) *Histogram { return s.of(Key{op, c, true}) }

func (s *Set) of(k Key) *Histogram {
	if h := s.histograms[k.side()][k.Op][k.Clock]; h != nil {
		return h
	}
	return NewHistogram()
}

// Done returns the number of samples of op that ended OK in the steady phase, whenever they were due. In a closed loop these are the samples of the steady
// phase; in an open loop they are what was achieved in it, including work that had been due before.
func (s *Set) Done(op Op) int64 { return s.done[op] }

// Count returns the number of samples of op that ended with o, whether or not their times were in range.
func (s *Set) Count(op Op, o Outcome) int64 { return s.outcomes[op][o] }

// Succeeded reports whether any sample of any operation ended OK.
func (s *Set) Succeeded() bool {
	return slices.ContainsFunc(s.outcomes[:], func(of [Outcomes]int64) bool { return of[OK] > 0 })
}

// Errors returns the number of samples of op that ended in Timeout, Lost or Failed.
func (s *Set) Errors(op Op) int64 {
	o := &s.outcomes[op]
	return o[Timeout] + o[Lost] + o[Failed]
}

// All yields the histograms in which anything was counted, in the order of Op and Clock.
func (s *Set) All() iter.Seq2[Key, *Histogram] {
	return func(yield func(Key, *Histogram) bool) {
		for key := range keys {
			if h := s.histograms[key.side()][key.Op][key.Clock]; h != nil && !yield(key, h) {
				return
			}
		}
	}
}

// Merge adds o, which remains unchanged.
func (s *Set) Merge(o *Set) {
	for key, h := range o.All() {
		s.at(key).Merge(h)
	}
	s.count(&o.outcomes, &o.done)
}

// count adds counts.
func (s *Set) count(outcomes *[Ops][Outcomes]int64, done *[Ops]int64) {
	for op := range outcomes {
		for i, n := range outcomes[op] {
			s.outcomes[op][i] += n
		}
		s.done[op] += done[op]
	}
}

// Fold adds a histogram to that of the key. It contains successes whose outcomes the set does not count.
func (s *Set) Fold(k Key, h *Histogram) { s.at(k).Merge(h) }

// AddCounts adds samples of op that ended with o, whose times are folded separately.
func (s *Set) AddCounts(op Op, o Outcome, n int64) { s.outcomes[op][o] += n }

// AddDone adds samples of op that ended OK in the steady phase.
func (s *Set) AddDone(op Op, n int64) { s.done[op] += n }

// Add counts one sample, as a Collector does for many sessions.
func (s *Set) Add(m Sample) {
	op, outcome := known(&m)
	s.outcomes[op][outcome]++
	unserved := outcome.unserved()
	if outcome != OK && (!unserved || !op.Has(Response)) {
		return
	}
	for c := range clocks {
		if op.Has(c) && (c != Service || !unserved || m.begun()) {
			s.at(Key{op, c, unserved}).Record(c.Of(m))
		}
	}
}

func (s *Set) at(k Key) *Histogram {
	h := &s.histograms[k.side()][k.Op][k.Clock]
	if *h == nil {
		*h = NewHistogram()
	}
	return *h
}

// known files a sample of an unknown operation or outcome under none and failed: such a sample is counted, but enters no histogram.
func known(m *Sample) (Op, Outcome) {
	if m.Op >= ops || m.Outcome >= outcomes {
		return OpNone, Failed
	}
	return m.Op, m.Outcome
}
