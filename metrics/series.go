package metrics

import "time"

// Point is one interval of one operation or of several together, for the timeline and the progress line. All phases count, so warm-up and drain are visible.
type Point struct {
	From, To  time.Duration
	Steady    bool  // at least one sample of the interval, of any operation, belongs to the steady phase
	OK        int64 // samples of the operations counted that ended OK
	Errors    int64 // of these operations: timeouts, lost and failed
	Timed     int64 // samples that P50, P99 and Max are based on: of the operations timed, those that ended OK and are in range
	PerSecond float64
	P50, P99  time.Duration // response, or service if an operation has no response; 0 without samples in range
	Max       time.Duration
	Events    int64 // watch events received
}

// Series holds the points of one or several operations, in order of time. It is not safe for concurrent use.
type Series struct {
	counted, timed []Op
	events         int64
	points         []Point
}

// NewSeries creates an empty series that counts some operations together and times some.
func NewSeries(counted, timed []Op) *Series { return &Series{counted: counted, timed: timed} }

// Add appends the point of an interval and returns it. fanout is the counters as of its end.
func (s *Series) Add(iv Interval, fanout FanoutCounts) Point {
	p := NewPoint(iv, s.counted, s.timed)
	p.Events = fanout.AllEvents() - s.events
	s.events += p.Events
	s.points = append(s.points, p)
	return p
}

// Points returns all points. They belong to the series.
func (s *Series) Points() []Point { return s.points }

// NewPoint sums up one interval: counts of some operations, and times of some.
func NewPoint(iv Interval, counted, timed []Op) Point {
	h := NewHistogram()
	p := Point{From: iv.From, To: iv.To, Steady: iv.Steady.outcomes != [Ops][Outcomes]int64{}}
	for _, op := range timed {
		clock := Response
		if !op.Has(clock) {
			clock = Service
		}
		for _, s := range []*Set{iv.Steady, iv.Other} {
			if some := s.histograms[0][op][clock]; some != nil {
				h.Merge(some)
			}
		}
	}
	for _, op := range counted {
		p.OK += iv.Steady.Count(op, OK) + iv.Other.Count(op, OK)
		p.Errors += iv.Steady.Errors(op) + iv.Other.Errors(op)
	}
	p.Timed = h.Count()
	p.P50, p.P99, p.Max = h.Quantile(0.5), h.Quantile(0.99), h.Max()
	if length := iv.To - iv.From; length > 0 {
		p.PerSecond = float64(p.OK) / length.Seconds()
	}
	return p
}
