package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

const fidelityCaption = "How far the replay was like its recording. A request diverges if it was not sent, was sent a second late or more, or was answered with another code. " +
	"Some requests wait for those of other sessions that came before them in the recording. Lag is how late requests were sent."

// fidelityOf shows how faithful replays were. It has no rows if there are none.
func fidelityOf(group []row) table {
	if !slices.ContainsFunc(group, func(r row) bool { return r.cells[0].Fidelity != nil }) {
		return table{}
	}
	all := keys(group)
	add := func(above, below, markdown string, value func(f results.Fidelity) float64) {
		all = append(all, column{above, below, markdown, false, partOfOp, func(r row) string {
			return r.figure(byOperations, func(c results.Cell) (float64, bool) {
				if c.Fidelity == nil {
					return 0, false
				}
				return value(*c.Fidelity), true
			}).count()
		}})
	}
	add("", "speed", "speed", func(f results.Fidelity) float64 { return f.Speed })
	add("", "requests", "requests", func(f results.Fidelity) float64 { return float64(f.Requests) })
	add("divergent", "%", "divergent, %", func(f results.Fidelity) float64 { return 100 * f.Share() })
	add("", "unsent", "not sent", func(f results.Fidelity) float64 { return float64(f.Unsent) })
	add("", "late", "late", func(f results.Fidelity) float64 { return float64(f.Late) })
	add("", "differ", "answered differently", func(f results.Fidelity) float64 {
		n := 0.0
		for _, d := range f.Differ {
			n += float64(d.Count)
		}
		return n
	})
	add("", "unmapped", "of znodes not created", func(f results.Fidelity) float64 { return float64(f.Unmapped) })
	add("", "waits", "waits", func(f results.Fidelity) float64 { return float64(f.Waits) })
	add("lag", "p99 ms", "lag p99, ms", func(f results.Fidelity) float64 { return f.LagP99 })
	add("", "expiries", "sessions left to expire", func(f results.Fidelity) float64 { return float64(f.Vanished) })
	return build(group, append(all, outcomes[len(outcomes)-1]))
}

// fidelitySentences says whether replays were faithful, and shows the first divergences.
func fidelitySentences(group []row) (all []string) {
	for _, r := range group {
		all = append(all, fidelityOfAll(r)...)
		for _, c := range r.cells {
			f := c.Fidelity
			if f == nil {
				continue
			}
			where := r.title()
			if len(r.cells) > 1 {
				where += fmt.Sprintf(", repetition %d", c.Repetition)
			}
			all = append(all, fmt.Sprintf("The replay of %s was %s", where, stop(f.String())))
			for _, d := range f.Differ {
				all = append(all, fmt.Sprintf("%s: %s instead of %s, %s.", d.What, d.Got, d.Want, phrase.Times(d.Count)))
			}
			for _, kind := range slices.Sorted(maps.Keys(f.LeftOut)) {
				all = append(all, fmt.Sprintf("Left out, in each replay of the trace: %s, %s.", kind, phrase.Times(f.LeftOut[kind])))
			}
			for _, kind := range slices.Sorted(maps.Keys(f.Replaced)) {
				all = append(all, fmt.Sprintf("Replaced, in each replay of the trace: %s, %s.", kind, phrase.Times(f.Replaced[kind])))
			}
			if f.Timeouts > 0 {
				all = append(all, fmt.Sprintf("%s got another timeout than the recorded one.", phrase.Count(f.Timeouts, "session")))
			}
			for _, d := range f.First {
				all = append(all, fmt.Sprintf("Divergence at %.3f s: session %d, %s %s: %s instead of %s.", d.Due, d.Session, d.What, d.Path, d.Got, d.Want))
			}
		}
	}
	return all
}

// fidelityOfAll sums up several repetitions of a replay.
func fidelityOfAll(r row) []string {
	var shares []float64
	faithful := 0
	for _, c := range r.cells {
		if f := c.Fidelity; f != nil {
			shares = append(shares, 100*f.Share())
			if f.Faithful() {
				faithful++
			}
		}
	}
	if len(shares) < 2 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d replays of %s were faithful: %.2f to %.2f %% of their requests diverge.", faithful, len(shares), r.title(), slices.Min(shares), slices.Max(shares))}
}
