package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
)

// Metric names one number of a cell, for gates and comparisons. Its grammar:
//
//	p99(acquire.response)   acquire.response.p99   acquire.p99          a percentile, min, mean or max of a histogram of latency_ms
//	events_per_release      fanout.events_per_release   cost.create     a figure of fanout, cost or cost_per_success
//	throughput   put.throughput   errors   violations   unserved        of the cell
//	events_per_release(predecessor)   p99(acquire.response, predecessor)   of one variant alone
//
// An operation without a clock means its response, or its service if it has no due time. A Metric is comparable.
type Metric struct {
	key     string // a histogram of latency_ms, an operation, or a figure
	stat    string // statistic of the histogram, or throughput; empty for a figure
	variant string // empty for all variants
}

// Direction says which of two values of a metric is better.
type Direction int

// The directions.
const (
	LowerIsBetter Direction = iota
	HigherIsBetter
)

func (d Direction) String() string {
	if d == HigherIsBetter {
		return "higher is better"
	}
	return "lower is better"
}

// Unit says what kind of number a metric is.
type Unit string

// The units.
const (
	Milliseconds Unit = "ms"
	PerSecond    Unit = "/s"
	Share        Unit = "share" // 0 to 1, shown as a percentage in text
	Plain        Unit = ""      // a count, or a ratio of counts
	Microseconds Unit = "us"
)

// statistic is a value read off a histogram, and how many samples its 95 % interval needs.
type statistic struct {
	name   string // in a Metric
	field  string // in Latency, and in Latency.AtLeast
	needed int64
	of     func(Latency) *float64
}

var statistics = []statistic{
	{"p50", "p50", EnoughForP50, func(l Latency) *float64 { return &l.P50 }},
	{"p90", "p90", EnoughForP90, func(l Latency) *float64 { return &l.P90 }},
	{"p99", "p99", EnoughForP99, func(l Latency) *float64 { return l.P99 }},
	{"p99.9", "p999", EnoughForP999, func(l Latency) *float64 { return l.P999 }},
	{"min", "min", 1, func(l Latency) *float64 { return &l.Min }},
	{"mean", "mean", 1, func(l Latency) *float64 { return &l.Mean }},
	{"max", "max", 1, func(l Latency) *float64 { return &l.Max }},
}

// Statistics returns the names of the statistics of a histogram.
func Statistics() (names []string) {
	for _, s := range statistics {
		names = append(names, s.name)
	}
	return names
}

// findStatistic finds a statistic by its name in a Metric or in Latency.
func findStatistic(name string) (statistic, bool) {
	i := slices.IndexFunc(statistics, func(s statistic) bool { return s.name == name || s.field == name })
	if i < 0 {
		return statistic{}, false
	}
	return statistics[i], true
}

// The figures of a cell that are not in a table of the document.
const (
	throughput = "throughput"
	errorShare = "errors"
	violations = "violations"
	unservedOf = "unserved"
	cpuPerOp   = "cpu_us_per_op"
)

// cellFigures holds these figures by name.
var cellFigures = map[string]struct {
	unit   Unit
	better Direction
}{
	throughput: {PerSecond, HigherIsBetter}, errorShare: {Share, LowerIsBetter}, violations: {Plain, LowerIsBetter},
	unservedOf: {Share, LowerIsBetter}, cpuPerOp: {Microseconds, LowerIsBetter},
}

// costsOfSuccess are the names in cost_per_success.
var costsOfSuccess = []string{"writes", "reads", "lists", "names", "bytes", "events", "watches", "session"}

// higher lists the figures of fanout and cost for which more is better; shares lists those between 0 and 1.
var (
	higher = []string{"useful_share", "wake_efficiency", "fairness_jain", "fairness_random", "stale_writes_rejected"}
	shares = []string{"useful_share", "wake_efficiency", "ownerless_share", "ownerless_share_worst"}
)

// ParseMetric parses the name of a metric. It does not know which metrics a cell has: see Metric.In.
func ParseMetric(s string) (Metric, error) {
	head, args, called := strings.Cut(strings.TrimSpace(s), "(")
	head = strings.TrimSpace(head)
	var arguments []string
	if called {
		inner, rest, closed := strings.Cut(args, ")")
		if !closed || strings.TrimSpace(rest) != "" {
			return Metric{}, fmt.Errorf("metric %q: the parenthesis must be closed at the end", s)
		}
		for _, a := range strings.Split(inner, ",") {
			if a = strings.TrimSpace(a); a == "" {
				return Metric{}, fmt.Errorf("metric %q: empty argument", s)
			}
			arguments = append(arguments, a)
		}
	}
	if head == "" {
		return Metric{}, fmt.Errorf("metric %q: no name (expected one such as p99(acquire.response) or throughput)", s)
	}
	m, err := Metric{}, error(nil)
	if stat, is := findStatistic(head); is {
		if len(arguments) == 0 {
			return Metric{}, fmt.Errorf("metric %q: no operation (expected one such as %s(acquire.response))", s, stat.name)
		}
		m.stat = stat.name
		m.key, err = histogram(arguments[0])
		arguments = arguments[1:]
	} else {
		m, err = dotted(head)
	}
	if err != nil {
		return Metric{}, fmt.Errorf("metric %q: %w", s, err)
	}
	if len(arguments) > 1 {
		return Metric{}, fmt.Errorf("metric %q: %d arguments (expected at most one variant)", s, len(arguments))
	}
	if len(arguments) == 1 {
		m.variant = arguments[0]
	}
	return m, nil
}

// dotted parses a metric without its parenthesis: OPERATION.CLOCK.STATISTIC, OPERATION.throughput, or a figure.
func dotted(head string) (Metric, error) {
	for _, s := range statistics {
		for _, name := range []string{s.name, s.field} {
			if of, is := strings.CutSuffix(head, "."+name); is {
				key, err := histogram(of)
				return Metric{key: key, stat: s.name}, err
			}
		}
	}
	if op, is := strings.CutSuffix(head, "."+throughput); is {
		if _, known := findOp(op); !known {
			return Metric{}, fmt.Errorf("unknown operation %q", op)
		}
		return Metric{key: op, stat: throughput}, nil
	}
	for prefix, keys := range map[string][]string{"fanout.": fanoutKeys(), "cost.": costKeys(), "cost_per_success.": costsOfSuccess} {
		if key, is := strings.CutPrefix(head, prefix); is {
			if !slices.Contains(keys, key) {
				return Metric{}, fmt.Errorf("unknown figure %q of %s (expected one of %s)", key, strings.TrimSuffix(prefix, "."), strings.Join(keys, ", "))
			}
			return Metric{key: key}, nil
		}
	}
	if _, known := cellFigures[head]; known || slices.Contains(slices.Concat(fanoutKeys(), costKeys(), costsOfSuccess), head) {
		return Metric{key: head}, nil
	}
	if op, _, _ := strings.Cut(head, "."); op == BothSides || isOp(op) {
		return Metric{}, fmt.Errorf("no statistic (expected %s)", strings.Join(Statistics(), ", "))
	}
	return Metric{}, fmt.Errorf("unknown name %q", head)
}

// histogram returns the key of latency_ms for OPERATION or OPERATION.CLOCK.
func histogram(name string) (string, error) {
	op, clock, given := strings.Cut(name, ".")
	known, is := findOp(op)
	if !is && op != BothSides {
		return "", fmt.Errorf("unknown operation %q", op)
	}
	var has []string
	for c := range metrics.Clock(metrics.Clocks) {
		if op == BothSides || known.Has(c) {
			has = append(has, c.String())
		}
	}
	if !given {
		return op + "." + has[0], nil
	}
	if !slices.Contains(has, clock) {
		return "", fmt.Errorf("unknown clock %q of %s (expected one of %s)", clock, op, strings.Join(has, ", "))
	}
	return name, nil
}

func findOp(name string) (metrics.Op, bool) {
	for op := range metrics.Op(metrics.Ops) {
		if op != metrics.OpNone && op.String() == name {
			return op, true
		}
	}
	return metrics.OpNone, false
}

func isOp(name string) bool { _, is := findOp(name); return is }

// String returns the canonical form, which ParseMetric parses: p99(acquire.response, predecessor).
func (m Metric) String() string {
	variant := m.variant
	switch {
	case m.stat == throughput:
		return m.key + "." + throughput + parenthesis(variant)
	case m.stat == "":
		return m.key + parenthesis(variant)
	case variant == "":
		return m.stat + parenthesis(m.key)
	}
	return m.stat + parenthesis(m.key+", "+variant)
}

func parenthesis(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

// Variant returns the variant that the metric is restricted to; empty for all variants.
func (m Metric) Variant() string { return m.variant }

// Histogram returns the key of latency_ms that the metric is read from; empty for a figure.
func (m Metric) Histogram() string {
	if m.stat == "" || m.stat == throughput {
		return ""
	}
	return m.key
}

// Better returns the direction in which the metric improves.
func (m Metric) Better() Direction {
	if m.stat == throughput || m.stat == "" && (cellFigures[m.key].better == HigherIsBetter || slices.Contains(higher, m.key)) {
		return HigherIsBetter
	}
	return LowerIsBetter
}

// Estimated reports whether another run of the same profile gives another value, as for times and rates. Counts, shares and extremes are facts of the run.
func (m Metric) Estimated() bool {
	unit := m.Unit()
	return (unit == Milliseconds || unit == Microseconds || unit == PerSecond) && m.stat != "min" && m.stat != "max"
}

// Unit returns the unit of the values.
func (m Metric) Unit() Unit {
	switch {
	case m.stat == throughput:
		return PerSecond
	case m.stat != "":
		return Milliseconds
	case slices.Contains(shares, m.key):
		return Share
	}
	return cellFigures[m.key].unit
}

// Format formats a value of the metric with its unit and three significant digits, the most that are reproducible.
func (m Metric) Format(x float64) string {
	switch unit := m.Unit(); unit {
	case Milliseconds:
		return phrase.Seconds(x / 1e3)
	case Microseconds:
		return phrase.Seconds(x / 1e6)
	case Share:
		return phrase.Number(100*x, 3) + " %"
	default:
		return phrase.Number(x, 3) + string(unit)
	}
}
