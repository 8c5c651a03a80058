package exporter

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/metrics"
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("zkbench_"+name, help, labels, nil)
}

// The metrics other than zkbench_run_info.
var (
	operationDuration = describe("operation_duration_seconds", "Time of operations and of their phases: response from when the work was due, service from its start, lag from due to start.",
		"op", "clock", "variant")
	operations      = describe("operations_total", "Operations and their phases that ended, by outcome.", "op", "outcome", "variant")
	offered         = describe("offered_total", "Operations offered: in an open loop those that came due, in a closed loop those that ended.")
	waiting         = describe("waiting", "Sessions with an operation in flight that hold nothing.")
	holders         = describe("holders", "Sessions that hold one object at one instant, of the object that most hold; readers are not counted.")
	watchEvents     = describe("watch_events_total", "Watch events received, by whether the session made progress after it.", "useful")
	violations      = describe("violations_total", "Checks that were violated, one for each cell.", "check")
	sessions        = describe("sessions", "Sessions of the cell, by state.", "state")
	connectDuration = describe("connect_duration_seconds", "Time to open the sessions of a cell.", "phase")
	generatorCPU    = describe("generator_cpu_ratio", "Share of this machine's CPUs that zkbench used in the last second.")
	timerLag        = describe("timer_lag_seconds", "How late timers of zkbench fired.")
	phase           = describe("phase", "1 for the phase that the cell is in.", "phase")
	faultActive     = describe("fault_active", "Faults of a kind that are injected and not yet over.", "fault")
	leaderChanges   = describe("leader_changes_total", "Changes of the ensemble's leader that were seen.")
)

// Describe implements prometheus.Collector.
func (e *Exporter) Describe(to chan<- *prometheus.Desc) {
	to <- e.info.Desc()
	for _, d := range []*prometheus.Desc{operationDuration, operations, offered, waiting, holders, watchEvents, violations, sessions, connectDuration, generatorCPU,
		timerLag, phase, faultActive, leaderChanges} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (e *Exporter) Collect(to chan<- prometheus.Metric) {
	e.mu.Lock()
	defer e.mu.Unlock()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetricWithCreatedTimestamp(d, prometheus.CounterValue, v, e.began, labels...)
	}
	to <- e.info
	for d, h := range e.durations {
		to <- e.histogram(operationDuration, h, d.op, d.clock, d.variant)
	}
	for o, n := range e.operations {
		counter(operations, float64(n), o.op, o.outcome, o.variant)
	}
	counter(offered, e.offered)
	gauge(waiting, float64(e.waiting))
	gauge(holders, float64(e.holders))
	counter(watchEvents, float64(e.useful), "true")
	counter(watchEvents, float64(e.vain), "false")
	for check, n := range e.violations {
		counter(violations, float64(n), check)
	}
	gauge(sessions, float64(e.up), "connected")
	gauge(sessions, float64(e.down), "disconnected")
	to <- e.histogram(connectDuration, e.opened, "session")
	if e.hasCPU {
		gauge(generatorCPU, e.cpu)
	}
	to <- e.histogram(timerLag, e.lag)
	for _, p := range []string{outcome.PhaseConnect, outcome.PhaseWarmup, outcome.PhaseSteady, outcome.PhaseOvertime, outcome.PhaseDrain, outcome.PhaseJudge} {
		v := 0.0
		if p == e.phase {
			v = 1
		}
		gauge(phase, v, p)
	}
	for fault, n := range e.faults {
		gauge(faultActive, float64(n), fault)
	}
	counter(leaderChanges, float64(e.leaders))
}

// bounds are the upper bounds of the classic buckets, in seconds.
var bounds = []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60}

// The resolution of native histograms: each bucket is 2^(1/8) times as wide as the one before it, or 9 % wider.
const (
	schema  = 3
	perFold = 1 << schema
)

// both is a histogram with classic and native buckets. A scraper takes those that it prefers.
type both struct{ classic, native prometheus.Metric }

func (b both) Desc() *prometheus.Desc { return b.native.Desc() }

func (b both) Write(to *dto.Metric) error {
	var classic dto.Metric
	if err := b.classic.Write(&classic); err != nil {
		return err
	}
	if err := b.native.Write(to); err != nil {
		return err
	}
	to.Histogram.Bucket = classic.Histogram.Bucket
	return nil
}

// histogram returns a histogram of durations in Prometheus's form.
func (e *Exporter) histogram(d *prometheus.Desc, h *metrics.Histogram, labels ...string) prometheus.Metric {
	below := make(map[float64]uint64, len(bounds))
	positive := map[int]int64{}
	sum, zeros := 0.0, uint64(0)
	for slot, n := range h.Slots() {
		low, high := slot[0], slot[1]
		middle := (low.Seconds() + high.Seconds()) / 2
		sum += middle * float64(n)
		for _, bound := range bounds {
			if high.Seconds() <= bound {
				below[bound] += uint64(n)
			}
		}
		if high < time.Microsecond { // the resolution of the histogram
			zeros += uint64(n)
		} else {
			positive[int(math.Ceil(math.Log2(high.Seconds())*perFold))] += n
		}
	}
	for _, bound := range bounds { // also those without samples
		below[bound] += 0
	}
	count := uint64(h.Count())
	return both{prometheus.MustNewConstHistogram(d, count, sum, below, labels...),
		prometheus.MustNewConstNativeHistogram(d, count, sum, positive, nil, zeros, schema, time.Microsecond.Seconds(), e.began, labels...)}
}
