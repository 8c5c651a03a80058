package results

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
)

// The fewest samples for a 95 % confidence interval of the median and of p90: the smallest n with q^n below 2.5 %.
const (
	EnoughForP50 = 6
	EnoughForP90 = 36
)

// Value is the value of a Metric in a cell.
type Value struct {
	X       float64 // in the metric's unit; 0 if unknown
	Known   bool    // if false, Why says why
	AtLeast bool    // a lower bound: unserved operations would have increased it
	Why     string
	N       int64 // number of samples that it is based on
}

// Of returns the value of the metric in a cell. A percentile with too few samples, and a figure per operation without any operation,
// are unknown.
func (m Metric) Of(c *Cell) Value {
	if m.variant != "" && m.variant != c.Variant {
		return unknown("the cell is of variant %s", c.Variant)
	}
	if err := m.In(c); err != nil {
		return unknown("%v", err)
	}
	if stat, is := findStatistic(m.stat); is {
		return m.percentile(c, stat)
	}
	switch {
	case m.stat == throughput:
		return perSecond(c, c.Done[m.key])
	case m.key == throughput:
		v := perSecond(c, doneOfCounted(*c))
		if v.Known {
			v.X = c.Throughput
		}
		return v
	case m.key == errorShare:
		return errorsOf(c)
	case m.key == violations:
		return violationsOf(c)
	case m.key == unservedOf:
		if c.Due == 0 {
			return unknown("nothing came due")
		}
		return Value{X: float64(c.Unserved) / float64(c.Due), Known: true, N: c.Due}
	case m.key == cpuPerOp:
		return per(doneOfCounted(*c), c.Generator.CPUPerOp)
	case slices.Contains(fanoutKeys(), m.key):
		return fanoutOf(c, m.key)
	case slices.Contains(costsOfSuccess, m.key):
		i := slices.IndexFunc(c.Costs, func(of Cost) bool { return of.Of == m.key })
		if i < 0 {
			return unknown("no operation ended in the steady phase")
		}
		return per(costedOf(*c), c.Costs[i].Measured)
	}
	return costOf(c, m.key)
}

func unknown(format string, args ...any) Value { return Value{Why: fmt.Sprintf(format, args...)} }

// per returns a figure that is divided by n operations.
func per(n int64, x float64) Value {
	if n == 0 {
		return unknown("no operation ended in the steady phase")
	}
	return Value{X: x, Known: true, N: n}
}

func perSecond(c *Cell, n int64) Value {
	if c.ElapsedS <= 0 {
		return unknown("the steady phase has length 0")
	}
	return per(n, float64(n)/c.ElapsedS)
}

func (m Metric) percentile(c *Cell, stat statistic) Value {
	l := c.Latency[m.key]
	v := Value{N: l.Count + l.Unserved}
	x := stat.of(l)
	switch {
	case v.N == 0:
		v.Why = "no samples of " + m.key
	case v.N < stat.needed || x == nil:
		v.Why = fmt.Sprintf("%s of %s: %s needs at least %d", phrase.Count(v.N, "sample"), m.key, stat.name, stat.needed)
	default:
		v.X, v.Known, v.AtLeast = *x, true, slices.Contains(l.AtLeast, stat.field) || l.Overflow > 0
	}
	return v
}

// errorsOf returns the share of failed operations among those that ended: everything counted in errors except what the end of the run cut
// short. In an open loop, unserved operations may have failed too.
func errorsOf(c *Cell) Value {
	failed := c.failed()
	if c.Operations+failed == 0 {
		return unknown("no operation ended in the steady phase")
	}
	return Value{X: float64(failed) / float64(c.Operations+failed), Known: true, N: c.Operations + failed, AtLeast: c.Unserved > 0}
}

// failed returns the number of errors, without operations that the end of the run cut short.
func (c *Cell) failed() (n int64) {
	for kind, of := range c.Errors {
		if kind != metrics.Unfinished.String() {
			n += of
		}
	}
	return n
}

// violationsOf counts the violations that the checks found. A check without evidence may have missed some.
func violationsOf(c *Cell) Value {
	v := Value{}
	without := []string{}
	for _, k := range c.Checks {
		switch {
		case k.Verdict == verdictViolated:
			v.X += float64(max(k.Count, 1))
		case k.Verdict == verdictHolds, k.Uncontended:
		default:
			without = append(without, k.Name)
		}
		v.N += int64(k.Evidence)
	}
	switch {
	case len(c.Checks) == 0:
		v.Why = "no check judged the cell"
	case len(without) > 0 && v.X == 0:
		v.Why = "not enough evidence for " + strings.Join(without, ", ")
	default:
		v.Known, v.AtLeast = true, len(without) > 0
	}
	return v
}

// The values of Check.Verdict.
const (
	verdictHolds    = "holds"
	verdictViolated = "violated"
)

// fanoutOf returns a field of Fanout by its name in the document.
func fanoutOf(c *Cell, key string) Value {
	if c.Fanout == nil {
		return unknown("no release ended in the steady phase")
	}
	n := releasesOf(c)
	if strings.HasSuffix(key, "_per_acquire") {
		n = grantsOf(c)
	}
	switch {
	case key == "useful_share" && c.Fanout.UsefulShare == nil:
		return unknown("there was no watch event")
	case key == "useful_share":
		return per(n, *c.Fanout.UsefulShare)
	case c.Fanout.TheoryPerRelease == 0 && (key == "ratio_to_theory" || key == "theory_per_release"):
		return unknown("there is no theory")
	}
	f := reflect.ValueOf(*c.Fanout)
	for i := range f.NumField() {
		if name, _, _ := strings.Cut(f.Type().Field(i).Tag.Get("json"), ","); name == key {
			return per(n, f.Field(i).Float())
		}
	}
	return unknown("unknown figure %q of fanout", key)
}

// costOf returns a key of cost. If requests were counted, a kind without a key was never sent.
func costOf(c *Cell, key string) Value {
	n := grantsOf(c)
	x, has := c.Cost[key]
	switch {
	case !has && slices.Contains(requestKinds, key) && c.Fanout != nil:
		return per(n, 0)
	case !has:
		return unknown("the cell has no %s", key)
	case slices.Contains(requestKinds, key) || key == "failed_writes":
		return per(n, x)
	}
	return per(max(n, doneOfCounted(*c)), x)
}

// grantsOf and releasesOf return how many succeeded in the steady phase.
func grantsOf(c *Cell) int64 { return sum(c.Done, "acquire", "read-acquire") }

func releasesOf(c *Cell) int64 { return sum(c.Done, "release", "read-release") }

func doneOfCounted(c Cell) (n int64) {
	for _, m := range c.Measured {
		if m.Role == RoleOperation {
			n += c.Done[m.Op]
		}
	}
	return n
}

// costedOf returns the number of successes that cost_per_success is divided by.
func costedOf(c Cell) int64 {
	switch {
	case c.CostPer == "grant":
		return grantsOf(&c)
	case c.CostPer == "transaction":
		return c.Done["propose"]
	case c.CostPer == "request" || len(c.Measured) == 0:
		return doneOfCounted(c)
	}
	return c.Done[c.Measured[0].Op]
}

// fanoutKeys returns the fields of fanout, as the document names them.
func fanoutKeys() (keys []string) {
	t := reflect.TypeFor[Fanout]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		keys = append(keys, name)
	}
	return keys
}

func costKeys() []string { return slices.Concat(requestKinds, otherCosts) }

// Known returns the metric names of a cell: its figures, and the histograms, of which a Metric takes a statistic. For a cell that has not run
// they are derived from its measures.
func Known(c *Cell) []string {
	names := []string{throughput, errorShare, violations, cpuPerOp}
	if c.Loop == "open" {
		names = append(names, unservedOf)
	}
	names = append(names, costsOfSuccess...)
	if givesGrants(c) {
		names = append(append(names, fanoutKeys()...), costKeys()...)
	} else {
		names = append(names, slices.Sorted(maps.Keys(c.Cost))...)
	}
	return append(names, Histograms(c)...)
}

// givesGrants reports whether fan-out is counted per release, and requests by kind per grant.
func givesGrants(c *Cell) bool {
	return c.Fanout != nil || slices.ContainsFunc(c.Measured, func(m Measure) bool {
		return m.Op == metrics.Acquire.String() || m.Op == metrics.ReadAcquire.String()
	})
}

// Histograms returns the keys of latency_ms that a cell has, or would have with samples.
func Histograms(c *Cell) (keys []string) {
	ops := []string{}
	for _, m := range c.Measured {
		ops = append(ops, m.Op)
	}
	for key := range c.Latency {
		if !strings.HasSuffix(key, ".unserved") {
			op, _, _ := strings.Cut(key, ".")
			ops = append(ops, op)
		}
	}
	if slices.Contains(ops, metrics.Acquire.String()) {
		ops = append(ops, metrics.Release.String())
	}
	if slices.Contains(ops, metrics.ReadAcquire.String()) {
		ops = append(ops, metrics.ReadRelease.String(), BothSides)
	}
	slices.Sort(ops)
	for _, name := range slices.Compact(ops) {
		op, _ := findOp(name)
		for clock := range metrics.Clock(metrics.Clocks) {
			if name == BothSides || op.Has(clock) {
				keys = append(keys, name+"."+clock.String())
			}
		}
	}
	return keys
}

// connecting returns the keys of the phases of making a connection: any cell may have them, for connections made in its steady phase.
func connecting() (keys []string) {
	for _, op := range metrics.Connects() {
		keys = append(keys, op.String()+"."+metrics.Service.String())
	}
	return keys
}

// In returns nil if cells like this one have the metric, or an error that names the metrics they have. The variant does not matter.
func (m Metric) In(c *Cell) error {
	known := Known(c)
	if m.stat != throughput && slices.Contains(slices.Concat(known, connecting()), m.key) ||
		m.stat == throughput && slices.ContainsFunc(c.Measured, func(r Measure) bool { return r.Op == m.key }) {
		return nil
	}
	histograms := Histograms(c)
	figures := known[:len(known)-len(histograms)]
	histograms = slices.Compact(slices.Sorted(slices.Values(append(histograms, connecting()...))))
	return fmt.Errorf("unknown metric %s of workload %s (expected one of %s; or %s of %s)", m, c.Workload, strings.Join(figures, ", "),
		strings.Join(Statistics(), ", "), strings.Join(histograms, ", "))
}
