package bench

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/results"
)

// The details of locks, of readers and writers, of an open loop, of queues, elections and barriers are consistent with the document, and bounded.
func TestDetails(t *testing.T) {
	for name, lines := range map[string][]string{
		"closed loop": {"sessions: 10", "repetitions: 2"},
		"readers":     {"rate: 60", "workload: read-write", "variants: [read-write]", "readers: 50"},
		"queue":       {"workload: queue", "variants: [fifo]", "hold: 0s", "preload: 5"},
		"queues":      {"workload: queue", "variants: [fifo]", "hold: 0s", "sessions: 40", "queues: 10"},
		"elections":   {"workload: election", "variants: [predecessor]", "sessions: 12", "elections: 3", "hold: 20ms"},
		"barrier":     {"workload: barrier", "variants: [barrier]", "sessions: 30", "barriers: 20"},
		"gathering":   {"workload: double-barrier", "variants: [double-barrier]", "sessions: 5", "barriers: 20"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, latency, append(lines, timesOf(name)...)...)
				doc := r.mustRun()
				dir := r.config.Out.Path()
				if found, err := results.Validate(dir); err != nil || len(found) > 0 {
					t.Fatalf("%v %q", err, found)
				}
				all, err := results.ReadDetails(dir)
				if err != nil || len(all) != len(doc.Cells) {
					t.Fatalf("details of %d cells: %v, want of %d", len(all), err, len(doc.Cells))
				}
				for _, c := range doc.Cells {
					d := all[c.Name]
					good := d.Opening != nil
					switch name {
					case "queue", "queues":
						good = good && len(d.Depths) == outcome.MostDepths && len(d.Queues) == map[string]int{"queues": outcome.MostQueues}[name]
					case "elections":
						good = good && len(d.Leaderless) == outcome.MostVacancies && len(d.Strips) > 0
					case "barrier":
						good = good && len(d.Arrivals) == 1 && d.Arrivals[0].Rounds == 20 && len(d.Arrivals[0].Ranks) == outcome.MostRanks && d.Arrivals[0].Ranks[outcome.MostRanks-1].Members == 29
					case "gathering":
						good = good && len(d.Arrivals) == 2 && d.Arrivals[0].Rounds == 20 && d.Arrivals[1].Rounds == 20 && len(d.Arrivals[1].Ranks) == 5
					default:
						good = good && len(d.Cohorts) > 0 && len(d.Places) > 0 && len(d.Strips) > 0 && (name == "readers" || d.Shares[len(d.Shares)-1].Sessions == c.Sessions)
					}
					if !good {
						t.Errorf("%s: details %+v", c.Name, d)
					}
				}
				if info, err := os.Stat(filepath.Join(dir, results.DetailsFile)); err != nil || info.Size() > int64(len(doc.Cells))<<15 {
					t.Errorf("%d cells take %d bytes (%v), want at most 32 KiB each", len(doc.Cells), info.Size(), err)
				}
			})
		})
	}
}

// timesOf returns the lengths of the phases of a workload that runs until its time is over.
func timesOf(name string) []string {
	if name == "barrier" || name == "gathering" {
		return nil
	}
	return []string{"warmup: 500ms", "duration: 2s"}
}
