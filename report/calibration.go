package report

import (
	"fmt"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/stats"
)

// Heading describes the machine and the servers.
func (doc Calibration) Heading() []string {
	over := ""
	if doc.Encrypted {
		over = " over TLS"
	}
	return []string{fmt.Sprintf("Calibration of %s on %s: %s, %s of ZooKeeper %s (%s)%s", doc.Host, doc.Made.Format("2006-01-02 15:04"),
		phrase.Count(doc.Cores, "core"), phrase.Count(doc.Servers, "server"), doc.ZooKeeper, doc.Ensemble, over)}
}

// Sections shows what this machine adds to every figure.
func (doc Calibration) Sections() []Section {
	var s Section
	times := table{below: []string{"this machine", "p50", "p99", "max", "samples"}, text: []bool{true}}
	for _, row := range []struct {
		name string
		s    results.Spent
	}{{"timer lag, idle", doc.TimerLag}, {"timer lag, under load", doc.LoadedLag}, {"socket round trip", doc.RoundTrip}, {"round trip to a driver", doc.Seam}, {"fsync in " + doc.Dir, doc.Fsync}} {
		times.rows = append(times.rows, []string{row.name, microseconds(row.s.Median), microseconds(row.s.P99), microseconds(row.s.Max), fmt.Sprint(row.s.Count)})
	}
	s.add("", times)
	t := table{below: []string{"zkbench's own client", "per second", "spread", "p50", "spread", "p99", "spread", "CPU each", "spread"}, text: []bool{true}}
	for _, f := range doc.Work {
		row := []string{fmt.Sprintf("%ss, %s", f.Name, phrase.Count(doc.Sessions, "session")), phrase.Number(stats.Median(f.Rates), 3), inPercent(f.Spread.Rate)}
		for _, c := range []struct {
			of     []float64
			spread float64
		}{{f.Median, f.Spread.Median}, {f.P99, f.Spread.P99}, {f.CPU, f.Spread.CPU}} {
			row = append(row, phrase.Seconds(stats.Median(c.of)/1e6), inPercent(c.spread))
		}
		t.rows = append(t.rows, row)
	}
	t.rows = append(t.rows, []string{"connections", phrase.Number(doc.Connections, 3), "-", "-", "-", "-", "-", "-", "-"})
	s.add("", t, fmt.Sprintf("Medians of %s of %s each; the spread is the largest divided by the smallest, minus 1.", phrase.Count(len(doc.Work[0].Rates), "run"), phrase.Seconds(doc.RunSeconds)))
	if len(doc.Own) > 0 {
		own := table{below: []string{"the same load", "bare loop, per second", "run", "CPU each, bare loop", "run"}, text: []bool{true}}
		for _, b := range doc.Own {
			own.rows = append(own.rows, []string{fmt.Sprintf("%s, %s", b.Load, phrase.Count(doc.Sessions, "session")), phrase.Number(stats.Median(b.Bare), 3), phrase.Number(stats.Median(b.Run), 3),
				phrase.Seconds(stats.Median(b.BareCPU) / 1e6), phrase.Seconds(stats.Median(b.RunCPU) / 1e6)})
		}
		s.add("", own, fmt.Sprintf("Medians of %s of %s each.", phrase.Count(len(doc.Own[0].Run), "pair"), phrase.Seconds(doc.RunSeconds)))
	}
	s.say(doc.InPlainWords...)
	return []Section{s}
}

// microseconds formats a time that may be unknown.
func microseconds(us *float64) string {
	if us == nil {
		return "-"
	}
	return phrase.Seconds(*us / 1e6)
}

func inPercent(share float64) string { return phrase.Number(100*share, 2) + " %" }
