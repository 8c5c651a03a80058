package report

import (
	"fmt"
	"io"
	"math"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/stats"
)

// Calibration is what this machine adds to every figure, for a person at a terminal.
func Calibration(doc results.Calibration, look Look) Report {
	return func(w io.Writer) error {
		out := &printer{w: w, width: look.width()}
		over := ""
		if doc.Encrypted {
			over = " over TLS"
		}
		out.line(fmt.Sprintf("Calibration of %s on %s: %s, %s of ZooKeeper %s (%s)%s", doc.Host, doc.Made.Format("2006-01-02 15:04"),
			phrase.Count(doc.Cores, "core"), phrase.Count(doc.Servers, "server"), doc.ZooKeeper, doc.Ensemble, over))
		out.line("")
		times := table{below: []string{"this machine", "p50", "p99", "max", "samples"}, text: []bool{true}}
		for _, row := range []struct {
			name string
			s    results.Spent
		}{{"timer lag, idle", doc.TimerLag}, {"timer lag, under load", doc.LoadedLag}, {"socket round trip", doc.RoundTrip}, {"round trip to a driver", doc.Seam}, {"fsync in " + doc.Dir, doc.Fsync}} {
			times.rows = append(times.rows, []string{row.name, told(row.s.Median), told(row.s.P99), told(row.s.Max), fmt.Sprint(row.s.Count)})
		}
		whole := Look{Box: look.Box, Width: math.MaxInt}
		out.try(times.draw(w, whole))
		out.line("")
		t := table{below: []string{"zkbench's own client", "per second", "spread", "p50", "spread", "p99", "spread", "CPU each", "spread"}, text: []bool{true}}
		for _, f := range doc.Work {
			row := []string{fmt.Sprintf("%ss, %s", f.Name, phrase.Count(doc.Sessions, "session")), phrase.Number(stats.Median(f.Rates), 3), inPercent(f.Apart.Rate)}
			for _, c := range []struct {
				of    []float64
				apart float64
			}{{f.Median, f.Apart.Median}, {f.P99, f.Apart.P99}, {f.CPU, f.Apart.CPU}} {
				row = append(row, phrase.Seconds(stats.Median(c.of)/1e6), inPercent(c.apart))
			}
			t.rows = append(t.rows, row)
		}
		t.rows = append(t.rows, []string{"connections", phrase.Number(doc.Connections, 3), "-", "-", "-", "-", "-", "-", "-"})
		out.try(t.draw(w, whole))
		out.line(fmt.Sprintf("Medians of %s of %s each; the spread is the largest divided by the smallest, minus 1.", phrase.Count(len(doc.Work[0].Rates), "run"), phrase.Seconds(doc.RunSeconds)))
		out.line("")
		for _, text := range doc.InPlainWords {
			out.line(text)
		}
		return out.err
	}
}

// CalibrationJSON is the document itself.
func CalibrationJSON(doc results.Calibration) Report { return indented(doc) }

// told is a time in microseconds that may not be known.
func told(us *float64) string {
	if us == nil {
		return "-"
	}
	return phrase.Seconds(*us / 1e6)
}

func inPercent(share float64) string { return phrase.Number(100*share, 2) + " %" }
