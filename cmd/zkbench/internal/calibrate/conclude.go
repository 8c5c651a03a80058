package calibrate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/stats"
)

const (
	// trusted is the share of the machine's throughput in a closed loop up to which an open loop is trusted: above it, every response includes
	// queueing on this machine.
	trusted = 0.5
	// lateMark is the share of a median response that late timers may make up: the mark of a cell (docs/results.md).
	lateMark = 0.25
	// quickSync is the median, in microseconds, below which a sync certainly reached no disk.
	quickSync = 20
	// busy is the spread of identical runs, and the width of the interval of an own share, above which the calibration itself is doubted.
	busy = 0.25
	// pairsOf10 times the relative standard deviation of single runs is the difference that a paired t-test of ten pairs detects with a power of
	// 80 % at the level 5 %: (2.262 + 0.883) * sqrt(2/10), with Student's t of 9 degrees of freedom. The runs of a pair share the state of the
	// machine at their time, so the difference may be smaller.
	pairsOf10 = 1.41
)

// Conclude fills in the conclusions from the measurements: the spread of identical runs, what can be trusted, and the same in sentences.
func Conclude(doc *results.Calibration) {
	var trust results.Trust
	for i := range doc.Work {
		w := &doc.Work[i]
		w.Spread = results.Spread{Rate: spread(w.Rates), Median: spread(w.Median), P99: spread(w.P99), CPU: spread(w.CPU)}
		trust.Single = max(trust.Single, w.Spread.Rate)
		trust.Pairs = max(trust.Pairs, pairsOf10*deviation(w.Rates))
		load := phrase.Digits(trusted*slices.Min(w.Rates), 2)
		if w.Name == "write" {
			trust.Writes = load
		} else {
			trust.Reads = load
		}
	}
	if lag := doc.LoadedLag.P99; lag != nil {
		trust.Shortest = *lag / lateMark
	}
	doc.Conclusions, doc.InPlainWords = trust, sentences(*doc, trust)
}

// spread returns by how much the largest of some positive values exceeds the smallest, as a share of the smallest.
func spread(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return slices.Max(x)/slices.Min(x) - 1
}

// deviation returns the standard deviation of a sample divided by its mean.
func deviation(x []float64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares/float64(len(x)-1)) / mean
}

func sentences(doc results.Calibration, trust results.Trust) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	say("Loads: up to %s reads/s or %s writes/s in an open loop, half of the slowest run of a closed one; above that, responses include queueing on this machine.",
		phrase.Number(trust.Reads, 2), phrase.Number(trust.Writes, 2))
	for _, w := range doc.Work {
		if w.Name == "read" {
			cpu := stats.Median(w.CPU)
			cores := cpu * stats.Median(w.Rates) / 1e6
			say("zkbench itself used %s of CPU per read, %s of %s while it sent as many as it could.", phrase.Seconds(cpu/1e6), phrase.Number(cores, 2), phrase.Count(doc.Cores, "core"))
		}
	}
	if doc.Here {
		say("The servers share these cores with zkbench: more servers answer no faster here, and the loads are those of both together.")
	}
	runs := len(doc.Work[0].Rates)
	say("Differences: of %d identical runs the fastest had %s more throughput than the slowest; comparing two single runs shows nothing below that.", runs, percent(trust.Single))
	say("Ten pairs of '%s ab', with runs of %s, should show throughput differences of about %s and more.", program.Name(), phrase.Seconds(doc.RunSeconds), percent(trust.Pairs))
	if trust.Single > busy {
		say("That is a lot: the machine has other work, or its disk is slow at times. Calibrate again when it is quiet; loads and differences hold for the time of the measurement.")
	}
	var worst float64
	for _, w := range doc.Work {
		worst = max(worst, w.Spread.P99)
	}
	say("The p99 of identical runs differed by up to %s, their median by up to %s.", percent(worst), percent(slices.MaxFunc(doc.Work, func(a, b results.Floor) int {
		return int(math.Copysign(1, a.Spread.Median-b.Spread.Median))
	}).Spread.Median))
	if doc.LoadedLag.P99 != nil && doc.RoundTrip.Median != nil {
		say("Times: under load, one timer in a hundred was at least %s late, so open-loop medians below %s also reflect this machine; a request to a server on it takes at least about %s.",
			phrase.Seconds(*doc.LoadedLag.P99/1e6), phrase.Seconds(trust.Shortest/1e6), phrase.Seconds(*doc.RoundTrip.Median/1e6))
	}
	if len(doc.Own) > 0 {
		var own []string
		for _, b := range doc.Own {
			own = append(own, b.OwnShare.String())
		}
		say("%s's own share at full load: %s. That is how much less a run does than a bare loop of the same client and requests, as medians of %s with their 95 %% intervals.", program.Name(),
			strings.Join(own, ", "), phrase.Count(len(doc.Own[0].Run), "pair"))
		if slices.ContainsFunc(doc.Own, func(b results.Beside) bool { return b.High-b.Low > busy }) {
			say("At least one of these intervals is wider than %s: measure it again when the machine is quiet, or with more --pairs and a longer --for.", percent(busy))
		}
	}
	if s := doc.Seam.Median; s != nil {
		say("Drivers: %s of each of their times is the round trip to the driver; ignore smaller differences to zkbench's own recipes.", phrase.Seconds(*s/1e6))
	}
	if s := doc.Fsync.Median; s != nil && *s < quickSync {
		say("A sync in %s takes %s: no disk is that fast, so writes of servers there do not measure a disk.", doc.Dir, phrase.Seconds(*s/1e6))
	}
	return all
}

// percent formats a share in percent, with two digits.
func percent(share float64) string { return phrase.Number(100*share, 2) + " %" }
