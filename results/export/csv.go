package export

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
)

// spreadsheet writes one row per metric of each cell. An unknown value is empty, and the last column says why.
func spreadsheet(w io.Writer, runs []Source) error {
	out := csv.NewWriter(w)
	out.Write([]string{"run", "profile", "started", "workload", "variant", "sessions", "objects", "loop", "rate_per_s", "parameters", "repetition",
		"metric", "value", "unit", "lower_bound", "samples", "unknown"})
	for _, s := range runs {
		for i := range s.Run.Cells {
			c := &s.Run.Cells[i]
			rate := ""
			if c.RatePerS > 0 {
				rate = exact(c.RatePerS)
			}
			head := []string{s.name(), s.Run.Profile, s.Run.Started.UTC().Format(time.RFC3339Nano), c.Workload, c.Variant, strconv.Itoa(c.Sessions),
				strconv.Itoa(c.Objects), c.Loop, rate, parameters(c), strconv.Itoa(c.Repetition)}
			for _, m := range metricsOf(c) {
				v := m.Of(c)
				value := ""
				if v.Known {
					value = exact(v.X)
				}
				out.Write(append(slices.Clone(head), m.String(), value, string(m.Unit()), yes(v.AtLeast), strconv.FormatInt(v.N, 10), v.Why))
			}
		}
	}
	out.Flush()
	return out.Error()
}

// metricsOf returns the figures of a cell, and every statistic of the histograms that have samples.
func metricsOf(c *results.Cell) []results.Metric {
	var names []string
	for _, name := range results.Known(c) {
		if !slices.Contains(results.Histograms(c), name) {
			names = append(names, name)
		} else if _, has := c.Latency[name]; has {
			for _, stat := range results.Statistics() {
				names = append(names, stat+"("+name+")")
			}
		}
	}
	for _, m := range c.Measured {
		if m.Role == results.RoleOperation && len(c.Counted) > 1 {
			names = append(names, m.Op+".throughput")
		}
	}
	return parseAll(names)
}

func parameters(c *results.Cell) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(c.Parameters)) {
		words = append(words, fmt.Sprintf("%s=%v", key, c.Parameters[key]))
	}
	return strings.Join(words, " ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Intervals writes timeline.jsonl of runs as a table: for each interval a row for the clients and one per server, and one row for each event, a fault
// or a new leader. The columns are the union over all rows; an unknown figure is empty.
func Intervals(w io.Writer, runs []Source) error {
	all, names := make([][]results.Second, len(runs)), map[string]bool{}
	for i, s := range runs {
		lines, err := results.ReadSeconds(s.Dir)
		if err != nil {
			return err
		}
		all[i] = lines
		for _, line := range lines {
			for _, figures := range figuresOf(line) {
				for name := range figures {
					names[name] = true
				}
			}
		}
	}
	columns := slices.Sorted(maps.Keys(names))
	out := csv.NewWriter(w)
	out.Write(slices.Concat([]string{"run", "cell", "at", "phase", "source", "event"}, columns))
	for i, s := range runs {
		for _, line := range all[i] {
			head := []string{s.name(), line.Cell, line.At.UTC().Format(time.RFC3339Nano), line.Phase}
			if f := line.Fault; f != nil {
				text := strings.TrimSpace(f.Kind + " " + f.Target + " " + f.Event)
				out.Write(slices.Concat(head, []string{"fault", text}, make([]string, len(columns))))
			}
			if l := line.Leader; l != nil {
				out.Write(slices.Concat(head, []string{"leader", cmp.Or(l.Now, "nobody")}, make([]string, len(columns))))
			}
			of := figuresOf(line)
			for _, source := range slices.Sorted(maps.Keys(of)) {
				row := slices.Concat(head, []string{source, ""})
				for _, name := range columns {
					text := ""
					if x, known := of[source].Get(name); known {
						text = exact(x)
					}
					row = append(row, text)
				}
				out.Write(row)
			}
		}
	}
	out.Flush()
	return out.Error()
}

// figuresOf returns the figures of a line by source: client, or the address of a server.
func figuresOf(line results.Second) map[string]results.Figures {
	of := map[string]results.Figures{}
	if line.Client != nil {
		of["client"] = line.Client
	}
	maps.Copy(of, line.Servers)
	return of
}
