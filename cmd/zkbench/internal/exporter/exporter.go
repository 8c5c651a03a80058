package exporter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/metrics"
)

// Exporter serves the metrics of one run. Its methods may be called from several goroutines.
type Exporter struct {
	info     prometheus.Metric
	server   *http.Server
	served   chan struct{}
	listener net.Listener

	mu sync.Mutex
	state
}

// state holds the values that are served.
type state struct {
	cell         string               // the current one
	fanout       metrics.FanoutCounts // of the cell, at the last update
	began        time.Time
	phase        string
	waiting      int
	holders      int
	up, down     int // sessions
	cpu          float64
	hasCPU       bool
	offered      float64
	useful, vain int64
	leaders      int64
	operations   map[operation]int64
	durations    map[duration]*metrics.Histogram
	violations   map[string]int64
	faults       map[string]int
	lag, opened  *metrics.Histogram
}

type operation struct{ op, outcome, variant string }
type duration struct{ op, clock, variant string }

// Run is what zkbench_run_info reports.
type Run struct{ Name, Profile, Workload, Engine, Version string }

// Listen serves the metrics of a run at http://ADDRESS/metrics until Close. It returns an error if it cannot listen there.
func Listen(address string, run Run) (*Exporter, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for scrapers of metrics: %w", err)
	}
	e := &Exporter{listener: l, served: make(chan struct{}),
		info: prometheus.MustNewConstMetric(describe("run_info", "The current run; always 1.", "name", "profile", "workload", "engine", "version"),
			prometheus.GaugeValue, 1, run.Name, run.Profile, run.Workload, run.Engine, run.Version)}
	e.state = state{began: time.Now(), operations: map[operation]int64{}, durations: map[duration]*metrics.Histogram{}, violations: map[string]int64{},
		faults: map[string]int{}, lag: metrics.NewHistogram(), opened: metrics.NewHistogram()}
	registry := prometheus.NewRegistry()
	registry.MustRegister(e)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	e.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		defer close(e.served)
		e.server.Serve(l) // until Close
	}()
	return e, nil
}

// Address returns the address that it listens on.
func (e *Exporter) Address() string { return e.listener.Addr().String() }

// Close stops serving. Scrapes in progress have one second to finish.
func (e *Exporter) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := e.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = e.server.Close()
	}
	<-e.served
	return err
}

// Update updates the metrics with a state of the run.
func (e *Exporter) Update(u load.Update) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if u.Event != nil {
		e.happened(*u.Event)
	}
	if u.Message != "" {
		return
	}
	next := u.Tag != e.cell || u.Phase == outcome.PhaseConnect && e.phase != outcome.PhaseConnect // several runs may have cells of the same name
	if e.phase = u.Phase; next {
		e.cell, e.fanout = u.Tag, metrics.FanoutCounts{}
		e.faults = map[string]int{} // no fault outlives its cell
	}
	if u.Connects != nil {
		e.opened.Merge(u.Connects)
	}
	s := u.Second
	if s == nil {
		e.waiting, e.holders, e.up, e.down = 0, 0, u.Connected, u.Sessions-u.Connected
		return
	}
	sessions := s.Sessions()
	e.waiting, e.holders, e.up, e.down = sessions.Waiting, sessions.Holders, sessions.Connected, u.Sessions-sessions.Connected
	e.cpu, e.hasCPU = s.CPU, s.CPU >= 0
	if s.Lag != nil {
		e.lag.Merge(s.Lag)
	}
	e.count(u.Variant, s.Interval.Steady)
	e.count(u.Variant, s.Interval.Other)
	switch {
	case u.Rate == 0:
		e.offered += float64(s.OK + s.Errors)
	case u.Phase != outcome.PhaseDrain:
		e.offered += u.Rate * (s.To - s.From).Seconds()
	}
	new := s.Fanout.Sub(e.fanout)
	e.fanout = s.Fanout
	e.useful, e.vain = e.useful+new.Moved, e.vain+max(new.AllEvents()-new.Moved, 0)
}

func (e *Exporter) happened(event load.Event) {
	switch event.Kind {
	case load.EventFault:
		if event.Ended {
			e.faults[event.Name] = max(e.faults[event.Name]-1, 0)
		} else {
			e.faults[event.Name]++
		}
	case load.EventLeader:
		if event.Name != "" && !event.Ended { // a lost leader is followed by the next
			e.leaders++
		}
	case load.EventViolation:
		e.violations[event.Name]++
	}
}

// count adds the samples of an interval.
func (e *Exporter) count(variant string, set *metrics.Set) {
	for key, h := range set.All() {
		if key.Unserved {
			continue // not an operation's duration but a lower bound
		}
		d := duration{key.Op.String(), key.Clock.String(), variant}
		if e.durations[d] == nil {
			e.durations[d] = metrics.NewHistogram()
		}
		e.durations[d].Merge(h)
	}
	for op := range metrics.Ops {
		for outcome := range metrics.Outcomes {
			if n := set.Count(metrics.Op(op), metrics.Outcome(outcome)); n > 0 {
				e.operations[operation{metrics.Op(op).String(), metrics.Outcome(outcome).String(), variant}] += n
			}
		}
	}
}
