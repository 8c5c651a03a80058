package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// calibratedBy names a calibration.
func calibratedBy(c results.Calibrated) string {
	return fmt.Sprintf("Calibration of this machine, %s, with %s", c.Made.Format("2006-01-02 15:04"), namedServers(c.Servers, c.Ensemble, c.Encrypted))
}

// namedServers names the servers of a calibration or a run.
func namedServers(n int, ensemble string, encrypted bool) string {
	text := fmt.Sprintf("%s (%s)", phrase.Count(n, "server"), ensemble)
	if encrypted {
		text += " over TLS"
	}
	return text
}

// like reports whether a calibration was made on servers like those of an environment: as the environment's own calibration says, or else as c says.
func like(c results.Calibrated, e results.Environment) bool {
	if e.Calibration != nil {
		return e.Calibration.Same
	}
	return c.Same
}

// otherServers warns that the rates of a calibration come from other servers than those of some environments.
func otherServers(c results.Calibrated, all ...results.Environment) string {
	var others []string
	for _, e := range all {
		if one := namedServers(e.Servers, e.Ensemble, e.Encrypted); !like(c, e) && !slices.Contains(others, one) {
			others = append(others, one)
		}
	}
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf(" Its rates were measured on servers other than %s: calibrate on these to get theirs.", strings.Join(others, ", "))
}

// calibration says what stored calibrations mean for a run, one paragraph each; it is empty if none was stored. The ensembles of a run may have
// several calibrations if one was stored during the run.
func calibration(run results.Run) (all []string) {
	everywhere := run.Everywhere()
	for i, e := range everywhere {
		c := e.Calibration
		if c == nil || slices.ContainsFunc(everywhere[:i], func(before results.Environment) bool {
			return before.Calibration != nil && before.Calibration.SameAs(*c)
		}) {
			continue
		}
		its := func(e results.Environment) bool { return e.Calibration != nil && e.Calibration.SameAs(*c) }
		text := fmt.Sprintf("%s: comparing two single runs cannot show a throughput difference below %s.", calibratedBy(*c), inPercent(c.Trust.Single))
		if short := shorter(run, its, c.Trust.Shortest/1e3); len(short) > 0 {
			text += fmt.Sprintf(" Median responses below %s include this machine's late timers: %s.", phrase.Seconds(c.Trust.Shortest/1e6), strings.Join(short, ", "))
		}
		all = append(all, text+ownShare(*c)+otherServers(*c, slices.DeleteFunc(slices.Clone(everywhere), func(e results.Environment) bool { return !its(e) })...))
	}
	return all
}

// ownShare says what zkbench's own share of a rate is, if that was measured.
func ownShare(c results.Calibrated) string {
	if len(c.Own) == 0 {
		return ""
	}
	return fmt.Sprintf(" zkbench's own share at full load: %s.", listed(c.Own))
}

// listed lists own shares.
func listed(own []results.OwnShare) string {
	var all []string
	for _, s := range own {
		all = append(all, s.String())
	}
	return strings.Join(all, ", ")
}

// ownMark is zkbench's own share of a rate above which a table of rates at full load has a note, if the interval of the share excludes 0.
const ownMark = 0.05

// ownShares notes, beside a table with closed loops, which of zkbench's own shares are large by the calibrations of their ensembles.
func ownShares(run results.Run, group []row) (all []string) {
	for _, r := range group {
		c := run.EnvironmentOf(r.cells[0]).Calibration
		if c == nil || r.loop == "open" {
			continue
		}
		large := slices.DeleteFunc(slices.Clone(c.Own), func(s results.OwnShare) bool { return s.Rate <= ownMark || s.Low <= 0 })
		text := fmt.Sprintf("By the calibration of %s with %s, zkbench's own share at full load is more than %s in the median: %s. Where CPUs limit a closed loop, the servers can do more than the table says.",
			c.Made.Format("2006-01-02 15:04"), namedServers(c.Servers, c.Ensemble, c.Encrypted), inPercent(ownMark), listed(large))
		if len(large) > 0 && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// shorter returns the open-loop rows whose median response is below ms, on the ensembles that of selects.
func shorter(run results.Run, of func(results.Environment) bool, ms float64) (all []string) {
	for _, r := range rowsOf(run) {
		if r.loop == "open" && r.p50.known && r.p50.value < ms && of(run.EnvironmentOf(r.cells[0])) {
			all = append(all, r.title())
		}
	}
	return all
}

// manyPairs is more pairs than anybody waits for.
const manyPairs = 100

// CalibrationOfPairs says which difference a comparison with this many pairs can show reliably, and what the least relevant difference needs.
func CalibrationOfPairs(c results.Calibrated, e results.Environment, pairs int, least float64) string {
	visible := c.Trust.Pairs * math.Sqrt(10/float64(pairs))
	text := fmt.Sprintf("%s: %s should show throughput differences of about %s and more", calibratedBy(c), phrase.Count(pairs, "pair"), inPercent(visible))
	switch need := int(math.Ceil(10 * math.Pow(c.Trust.Pairs/least, 2))); {
	case visible <= least:
	case need > manyPairs:
		text += fmt.Sprintf("; the minimum effect, %s, needs a quieter machine or longer runs", inPercent(least))
	default:
		text += fmt.Sprintf("; the minimum effect, %s, would take about %s, or a quieter machine", inPercent(least), phrase.Count(max(need, pairs+1), "pair"))
	}
	return text + "." + ownShare(c) + otherServers(c, e)
}

// CalibrationOfLoads says which loads of a search are trustworthy, and how much zkbench itself can send.
func CalibrationOfLoads(c results.Calibrated, e results.Environment, cores int) string {
	text := fmt.Sprintf("%s: up to %s reads/s or %s writes/s can be trusted, counted in requests; above that, responses include queueing on this machine.", calibratedBy(c),
		phrase.Number(c.Trust.Reads, 2), phrase.Number(c.Trust.Writes, 2))
	if c.CPU > 0 {
		text += fmt.Sprintf(" zkbench uses %s of CPU per request, so on %s it sends at most %s/s.", phrase.Seconds(c.CPU/1e6), phrase.Count(cores, "core"),
			phrase.Number(float64(cores)*1e6/c.CPU, 2))
	}
	if c.Trust.Shortest > 0 {
		text += fmt.Sprintf(" A goal below %s also measures this machine's timers.", phrase.Seconds(c.Trust.Shortest/1e6))
	}
	return text + ownShare(c) + otherServers(c, e)
}
