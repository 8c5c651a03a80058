package bench

import (
	"fmt"

	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
)

const (
	// samplesEach is how many samples an operation makes, including those of its phases and its release.
	samplesEach = 8
	// judging is how many times the size of the history may be on disk while it is judged.
	judging = 3
	// mostPerSecond is the assumed maximum of operations per second in a closed loop: ensembles do fewer.
	mostPerSecond = 5000
)

// disk returns how many bytes the histories of a profile may take on disk at a time, or 0 if memory is enough.
func disk(p profiles.Profile) int64 {
	most := 0.0
	for _, point := range p.Points() {
		rate := float64(mostPerSecond)
		if len(point.Rate) > 0 {
			rate = point.Rate[0]
		} else if pause := (plan.Cell{Point: point}).Pause(); pause > 0 {
			rate = min(rate, float64(point.Sessions[0])/pause.Seconds())
		}
		most = max(most, rate*(p.Warmup+p.Duration+p.Overtime+p.Drain).Seconds())
	}
	if most*samplesEach <= float64(metrics.Kept) {
		return 0
	}
	return int64(most * samplesEach * float64(metrics.SampleBytes) * judging)
}

// noDisk returns an error if a directory has less free space than needed. It returns nil if the free space is not known, -1.
func noDisk(dir string, need, free int64) error {
	if free < 0 || free >= need {
		return nil
	}
	return fmt.Errorf("%s: the history of a cell may take %s until it is judged, and %s are free: choose another directory with --out, or a shorter duration",
		dir, phrase.Bytes(need), phrase.Bytes(free))
}
