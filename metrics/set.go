package metrics

import (
	"fmt"
	"iter"
	"strings"
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

// Of reads the clock for one sample.
func (c Clock) Of(s Sample) time.Duration {
	switch c {
	case Response:
		return s.Response()
	case Service:
		return s.Service()
	}
	return s.Lag()
}

// Has reports whether a histogram is kept of the operation by the clock. Only what a session sets out to do is due at some
// time; the phases of an acquisition, hand-offs and deliveries follow from it and have a service time alone.
func (o Op) Has(c Clock) bool {
	switch o {
	case OpNone, HandOff, Enqueue, List, Wait, Delivery, Recheck, Left, Deliver, Drain, Detect, Elect:
		return c == Service
	}
	return c < clocks
}

// Key names a histogram.
type Key struct {
	Op    Op
	Clock Clock
}

// String is operation.clock, such as acquire.response: the key of latency_ms in run.json.
func (k Key) String() string { return k.Op.String() + "." + k.Clock.String() }

// ParseKey is the inverse of Key.String.
func ParseKey(s string) (Key, error) {
	op, clock, _ := strings.Cut(s, ".")
	for o := range Op(Ops) {
		for c := range clocks {
			if o.String() == op && c.String() == clock {
				return Key{o, c}, nil
			}
		}
	}
	return Key{}, fmt.Errorf("%q is not operation.clock", s)
}

// Set is what a number of samples amounts to: a histogram of the successes per operation and clock, and how many samples
// ended how. Sets add up. A Set is not safe for concurrent use; its zero value is empty.
type Set struct {
	histograms [Ops][Clocks]*Histogram
	outcomes   [Ops][Outcomes]int64
}

// Histogram of an operation by a clock; an empty one when nothing was recorded. It belongs to the set.
func (s *Set) Histogram(op Op, c Clock) *Histogram {
	if h := s.histograms[op][c]; h != nil {
		return h
	}
	return NewHistogram()
}

// Count is the number of samples of op that ended with o, whether or not their times were in range.
func (s *Set) Count(op Op, o Outcome) int64 { return s.outcomes[op][o] }

// Errors is the number of samples of op that ended in Timeout, Lost or Failed.
func (s *Set) Errors(op Op) int64 {
	o := &s.outcomes[op]
	return o[Timeout] + o[Lost] + o[Failed]
}

// All yields the histograms in which anything was counted, in the order of Op and Clock.
func (s *Set) All() iter.Seq2[Key, *Histogram] {
	return func(yield func(Key, *Histogram) bool) {
		for op := range s.histograms {
			for c, h := range s.histograms[op] {
				if h != nil && !yield(Key{Op(op), Clock(c)}, h) {
					return
				}
			}
		}
	}
}

// Merge adds o, which stays as it is.
func (s *Set) Merge(o *Set) {
	for key, h := range o.All() {
		s.at(key).Merge(h)
	}
	for op := range o.outcomes {
		for i, n := range o.outcomes[op] {
			s.outcomes[op][i] += n
		}
	}
}

// Add counts one sample, as a Collector does for many sessions.
func (s *Set) Add(m Sample) {
	op, outcome := known(m)
	s.outcomes[op][outcome]++
	if outcome != OK {
		return
	}
	for c := range clocks {
		if op.Has(c) {
			s.at(Key{op, c}).Record(c.Of(m))
		}
	}
}

func (s *Set) at(k Key) *Histogram {
	h := &s.histograms[k.Op][k.Clock]
	if *h == nil {
		*h = NewHistogram()
	}
	return *h
}

// known files a sample of an operation or outcome that does not exist under none and failed: counted, in no histogram.
func known(m Sample) (Op, Outcome) {
	if m.Op >= ops || m.Outcome >= outcomes {
		return OpNone, Failed
	}
	return m.Op, m.Outcome
}
