package calibrate

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// Plan says what is measured, and how.
type Plan struct {
	Dir      string                                        // in which files are synced
	Path     string                                        // an existing znode that may be written
	Open     func(ctx context.Context) (zk.Session, error) // safe for concurrent use
	Sessions int
	Runs     int           // of each kind, at least 2; one more of each kind runs first and is not counted
	For      time.Duration // length of each run
	Here     bool          // the servers share this machine
	Tell     func(string)  // is told what is measured next
	// Seam measures the round trip to a driver up to n times, for the time atMost. If it is nil, that is not measured.
	Seam func(ctx context.Context, n int, atMost time.Duration) (*metrics.Histogram, error)
}

// openers is how many sessions are opened at a time: fewer than the connections that a server accepts from one host by default, 60.
const openers = 16

// answerTimeout is how long an answer may take after the end of a run.
const answerTimeout = 10 * time.Second

// payload is the length of the data that are written and read, in bytes.
const payload = 100

// kind is one kind of request.
type kind struct {
	name string
	send func(ctx context.Context, s zk.Session, path string) error
}

var kinds = []kind{
	{"read", func(ctx context.Context, s zk.Session, path string) error { _, _, err := s.Get(ctx, path); return err }},
	{"write", func(ctx context.Context, s zk.Session, path string) error {
		_, err := s.Set(ctx, path, make([]byte, payload), zk.AnyVersion)
		return err
	}},
}

// Measure measures the machine, then zkbench's own client on the servers. An error of any request ends it, because a failed request measures
// nothing. The caller adds to the document what identifies the machine and the servers, and may add zkbench's own share (Own); then it concludes (Conclude).
func Measure(ctx context.Context, p Plan) (doc results.Calibration, err error) {
	doc = results.Calibration{Schema: results.CalibrationSchema, Cores: runtime.NumCPU(), Here: p.Here, Dir: p.Dir, Sessions: p.Sessions, RunSeconds: p.For.Seconds()}
	p.Tell("timers, sockets and the disk")
	if doc.TimerLag, err = timers(ctx); err != nil {
		return doc, err
	}
	if doc.RoundTrip, err = sockets(ctx); err != nil {
		return doc, err
	}
	if doc.Fsync, err = disk(ctx, p.Dir); err != nil {
		return doc, err
	}
	if p.Seam != nil {
		p.Tell("the round trip to a driver")
		took, err := p.Seam(ctx, roundTrips, atMost)
		if err != nil {
			return doc, fmt.Errorf("the round trip to a driver: %w", err)
		}
		doc.Seam = spent(took)
	}
	p.Tell("connections")
	if doc.Opened, doc.Connections, err = p.connect(ctx); err != nil {
		return doc, fmt.Errorf("connections: %w", err)
	}
	for _, k := range kinds {
		doc.Work = append(doc.Work, results.Floor{Name: k.name})
	}
	var probe *metrics.TimerProbe
	for run := 0; run <= p.Runs; run++ { // the kinds take turns, so that changes over time are in the spread of each
		if run == 1 {
			probe = metrics.StartTimerProbe(sleep, metrics.NewOrigin(time.Now()), nil)
			defer probe.Stop()
		}
		for i, k := range kinds {
			p.Tell(fmt.Sprintf("%ss, run %d of %d", k.name, run, p.Runs))
			r, err := p.run(ctx, k)
			if err != nil {
				return doc, fmt.Errorf("%ss: %w", k.name, err)
			}
			if run > 0 {
				r.add(&doc.Work[i])
			}
		}
	}
	doc.LoadedLag = spent(probe.Take())
	return doc, nil
}

// connect opens and closes sessions, openers at a time, for the length of a run. Each opener opens at least one, however late it starts.
func (p Plan) connect(ctx context.Context) (opened int, perSecond float64, err error) {
	begun := time.Now()
	counts := make([]int, openers)
	err = inParallel(openers, func(i int) error {
		for counts[i] == 0 || time.Since(begun) < p.For {
			s, err := p.Open(ctx)
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				return err
			}
			counts[i]++
		}
		return nil
	})
	took := time.Since(begun).Seconds() // including the last ones, which ended after the time was over
	for _, n := range counts {
		opened += n
	}
	return opened, float64(opened) / took, err
}

// outcome is the result of one run.
type outcome struct {
	times *metrics.Histogram
	took  time.Duration
	cpu   time.Duration
}

func (o outcome) add(f *results.Floor) {
	n := float64(o.times.Count())
	f.Rates = append(f.Rates, n/o.took.Seconds())
	f.Median = append(f.Median, micros(o.times.Quantile(0.5)))
	f.P99 = append(f.P99, micros(o.times.Quantile(0.99)))
	f.CPU = append(f.CPU, micros(o.cpu)/n)
}

// open opens the sessions. closeAll closes them, also after an error.
func (p Plan) open(ctx context.Context) (sessions []zk.Session, closeAll func() error, err error) {
	sessions = make([]zk.Session, p.Sessions)
	each := func(do func(i int) error) error {
		return inParallel(min(openers, p.Sessions), func(first int) (err error) {
			for i := first; i < len(sessions); i += openers {
				err = errors.Join(err, do(i))
			}
			return err
		})
	}
	closeAll = func() error {
		return each(func(i int) error {
			if sessions[i] == nil {
				return nil
			}
			return sessions[i].Close()
		})
	}
	var failed atomic.Bool
	return sessions, closeAll, each(func(i int) (err error) {
		if failed.Load() {
			return nil
		}
		if sessions[i], err = p.Open(ctx); err != nil {
			sessions[i] = nil
			failed.Store(true)
		}
		return err
	})
}

// run opens sessions, lets each send one request after another, and closes them.
func (p Plan) run(ctx context.Context, k kind) (o outcome, err error) {
	sessions, closeAll, err := p.open(ctx)
	defer func() { err = errors.Join(err, closeAll()) }()
	if err != nil {
		return o, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.For+answerTimeout)
	defer cancel()
	times := make([]*metrics.Histogram, p.Sessions)
	cpu, begun := metrics.CPUTime(), time.Now()
	err = inParallel(p.Sessions, func(i int) error {
		times[i] = metrics.NewHistogram()
		for at := begun; at.Sub(begun) < p.For; {
			at = time.Now()
			if err := k.send(ctx, sessions[i], p.Path); err != nil {
				return err
			}
			times[i].Record(time.Since(at))
		}
		return nil
	})
	o = outcome{times: metrics.NewHistogram(), took: time.Since(begun), cpu: metrics.CPUTime() - cpu}
	for _, h := range times {
		o.times.Merge(h)
	}
	return o, err
}

// inParallel runs f in n goroutines, with their numbers from 0, and waits for them.
func inParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}
