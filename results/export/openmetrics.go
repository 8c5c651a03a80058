package export

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// openMetrics writes what runs measured as OpenMetrics text, which parsers of Prometheus' own format also read. Times are in seconds. A quantile
// that is only a lower bound gets its own metric, and unknown values are omitted. Samples have no time stamps: the scraper
// adds them.
func openMetrics(w io.Writer, runs []Source) error {
	e := &exposition{families: map[string]*family{}}
	for _, s := range runs {
		e.run(s)
	}
	out := bufio.NewWriter(w)
	for _, name := range e.order {
		f := e.families[name]
		fmt.Fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, f.help, name, f.kind)
		for _, line := range f.lines {
			fmt.Fprintln(out, line)
		}
	}
	fmt.Fprintln(out, "# EOF")
	return out.Flush()
}

type family struct {
	kind, help string
	lines      []string
}

// exposition collects the samples of each family, which must be contiguous.
type exposition struct {
	families map[string]*family
	order    []string
}

type labels []results.Condition

func (e *exposition) family(name, kind, help string) *family {
	f := e.families[name]
	if f == nil {
		f = &family{kind: kind, help: help}
		e.families[name], e.order = f, append(e.order, name)
	}
	return f
}

func (e *exposition) gauge(name, help string, l labels, x float64) {
	f := e.family(name, "gauge", help)
	f.lines = append(f.lines, name+l.String()+" "+exact(x))
}

var escaped = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

func (l labels) String() string {
	var words []string
	for _, c := range l {
		words = append(words, c.Name+`="`+escaped.Replace(c.Value)+`"`)
	}
	return "{" + strings.Join(words, ",") + "}"
}

func (l labels) with(pairs ...string) labels {
	all := slices.Clone(l)
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, results.Condition{Name: pairs[i], Value: pairs[i+1]})
	}
	return all
}

func (e *exposition) run(s Source) {
	r := s.Run
	of := labels{{Name: "run", Value: s.name()}}
	info := of.with("profile", r.Profile, "seed", strconv.FormatUint(r.Seed, 10), "zkbench", r.Environment.Zkbench)
	for _, f := range r.Environment.Fingerprint() {
		info = info.with(f.Name, f.Value)
	}
	e.gauge("zkbench_run_info", "What was run, and on what.", info, 1)
	e.gauge("zkbench_run_started_timestamp_seconds", "When the run started.", of, float64(r.Started.UnixMilli())/1e3)
	e.gauge("zkbench_run_exit_code", "Exit code of the run.", of, float64(r.Exit.Code))
	for i := range r.Cells {
		e.cell(&r.Cells[i], of)
	}
}

func (e *exposition) cell(c *results.Cell, run labels) {
	of := run.with("cell", c.Name, "workload", c.Workload, "variant", c.Variant, "sessions", strconv.Itoa(c.Sessions), "repetition", strconv.Itoa(c.Repetition))
	e.gauge("zkbench_steady_seconds", "Length of the steady phase.", of, c.ElapsedS)
	for _, kind := range slices.Sorted(maps.Keys(c.Errors)) {
		e.gauge("zkbench_failed_operations", "Operations that did not succeed, by kind.", of.with("kind", kind), float64(c.Errors[kind]))
	}
	e.gauge("zkbench_operations", "Operations that succeeded.", of, float64(c.Operations))
	for _, m := range metricsOf(c) {
		v := m.Of(c)
		switch {
		case !v.Known || m.Histogram() != "":
		case m.String() == "throughput":
			e.gauge("zkbench_throughput_per_second", "Operations done per second of the steady phase.", of, v.X)
		case m.Unit() == results.Microseconds:
			e.gauge("zkbench_cpu_seconds_per_operation", "CPU time of zkbench per operation.", of, v.X/1e6)
		case m.Unit() == results.Share:
			e.gauge("zkbench_share_ratio", "Shares between 0 and 1, by name.", of.with("of", m.String(), "lower_bound", yes(v.AtLeast)), v.X)
		default:
			e.gauge("zkbench_figure", "Figures per operation, release or second, by name.", of.with("of", m.String(), "lower_bound", yes(v.AtLeast)), v.X)
		}
	}
	for _, k := range c.Checks {
		e.gauge("zkbench_check_verdict", "1 for the verdict of the check.", of.with("check", k.Name, "verdict", k.Verdict), 1)
		e.gauge("zkbench_check_violations", "Violations that the check found.", of.with("check", k.Name), float64(k.Count))
	}
	for _, key := range slices.Sorted(maps.Keys(c.Latency)) {
		e.summary(key, c.Latency[key], of)
	}
}

// quantiles are the quantiles of the summaries.
var quantiles = []struct {
	q, field string
	of       func(results.Latency) *float64
}{
	{"0.5", "p50", func(l results.Latency) *float64 { return &l.P50 }},
	{"0.9", "p90", func(l results.Latency) *float64 { return &l.P90 }},
	{"0.99", "p99", func(l results.Latency) *float64 { return l.P99 }},
	{"0.999", "p999", func(l results.Latency) *float64 { return l.P999 }},
	{"1", "max", func(l results.Latency) *float64 { return &l.Max }},
}

// summary writes a histogram of latency_ms. Its sum and count cover served operations; a key for unserved ones has only quantiles.
func (e *exposition) summary(key string, l results.Latency, of labels) {
	op, clock, _ := strings.Cut(key, ".")
	if strings.HasSuffix(key, unserved) || l.Count+l.Unserved == 0 {
		return
	}
	of = of.with("operation", op, "clock", clock)
	const name, bound = "zkbench_latency_seconds", "zkbench_latency_lower_bound_seconds"
	f := e.family(name, "summary", "Times of operations by clock: response from when it was due, service from its start, lag between them.")
	for _, q := range quantiles {
		x := q.of(l)
		switch {
		case x == nil:
		case slices.Contains(l.AtLeast, q.field):
			e.gauge(bound, "Quantiles that are lower bounds, because some of the work was not served.", of.with("q", q.q), *x/1e3)
		default:
			f.lines = append(f.lines, name+of.with("quantile", q.q).String()+" "+exact(*x/1e3))
		}
	}
	if l.Unserved == 0 {
		f.lines = append(f.lines, name+"_sum"+of.String()+" "+exact(l.Mean*float64(l.Count)/1e3))
	}
	f.lines = append(f.lines, name+"_count"+of.String()+" "+strconv.FormatInt(l.Count, 10))
	if l.Unserved > 0 {
		e.gauge("zkbench_unserved_operations", "Work that was given up before it was served: the least that it would have taken is in the lower bounds.",
			of, float64(l.Unserved))
	}
}
