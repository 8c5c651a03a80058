package bench

import (
	"cmp"
	"fmt"
	"iter"
	"runtime"
	"sync"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/spill"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// newHistory is the history of a cell. What does not fit into memory goes to the directory of the run.
func (r *runner) newHistory() *metrics.History {
	return metrics.NewHistory(0, spill.NewRoom(r.Out.Path(), 0))
}

// newTrips are the requests of a cell. Of those that took long a MiB stays in memory.
func (r *runner) newTrips() *metrics.RoundTrips {
	return metrics.NewRoundTrips(0, spill.NewRoom(r.Out.Path(), 1<<20))
}

// lostHistory says that samples of the history, or requests that took long, could not be kept. It ends the run.
func (c *cell) lostHistory() error {
	err := cmp.Or(c.history.Err(), c.trips.Err())
	if err != nil {
		err = fmt.Errorf("the history of the operations is not complete: %w", err)
		c.fail(err)
	}
	return err
}

// evidence is the history for the checks. When the ensemble was lost, a session that still waited was cut off from it for a time that nobody
// knows: not an attempt that the end of the run cut short, and no sign of the recipe, so it is left out.
func (c *cell) evidence() iter.Seq[metrics.Sample] {
	if !isClosed(c.failed) {
		return c.history.All()
	}
	return func(yield func(metrics.Sample) bool) {
		for s := range c.history.All() {
			if s.Outcome != metrics.Unfinished && !yield(s) {
				return
			}
		}
	}
}

// judge gives the verdicts, as many checks at a time as there are CPUs: they only read. Of a history that has lost samples there is none.
func (c *cell) judge() []results.Check {
	if c.merged != nil {
		return c.judgeMerged()
	}
	c.refusals.record(c.history.Shard(0))
	checks, _ := c.checks()
	verdicts := make([]check.Verdict, len(checks))
	var wait sync.WaitGroup
	for range c.history.All() { // what is on its way to the disk is there, or lost
		break
	}
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, k := range checks {
		places <- struct{}{}
		wait.Go(func() {
			verdicts[i] = k.Verdict(c.evidence(), c.history.Room())
			<-places
		})
	}
	wait.Wait()
	for i, v := range verdicts {
		verdicts[i] = c.excused(v)
	}
	c.found.verdicts = verdicts
	out := make([]results.Check, len(checks))
	lost := c.lostHistory()
	for i, v := range verdicts {
		if lost != nil {
			v = check.Verdict{Detail: "not judged: " + lost.Error()}
		}
		if checks[i].Left && v.Answer == check.Violated && !c.Share.Whole() {
			v = check.Verdict{Evidence: v.Evidence, Detail: v.Detail + ", but not known here is what the servers refused to other shares: merge the shares to tell"}
		}
		if checks[i].Held && v.Answer == check.Holds {
			v = c.relied(v)
		}
		out[i] = c.stated(checks[i].Name, v)
	}
	return append(out, c.agreement()...)
}

// stated puts a verdict into words. That nobody contended is no lack of evidence where the profile has nobody contend, as of a baseline of one session, nor
// in one share of a run, whose sessions contend with those of others.
func (c *cell) stated(name string, v check.Verdict) results.Check {
	k := results.FromVerdict(name, v)
	if what := c.refusals.of(v.Refused); what != "" {
		k.Detail += ": " + what
	}
	w, some := c.work.(workloads.Contending)
	switch {
	case !v.Uncontended || !some:
	case !w.Contends():
		k.Uncontended = true
		k.Detail += ", and by the profile nobody does, so the exit code leaves it out"
	case !c.Share.Whole() && c.merged == nil:
		k.Uncontended = true
		k.Detail += " in this share"
	}
	return k
}

const (
	// samplesEach is how many samples an operation makes, its phases and its release among them.
	samplesEach = 8
	// judging is how many times as much as the history may lie on disk while it is judged.
	judging = 3
	// mostPerSecond is how many operations a closed loop is taken to do at most: ensembles do fewer.
	mostPerSecond = 5000
)

// disk is how many bytes the histories of a profile may take at a time; 0 where memory is enough.
func disk(p profiles.Profile) int64 {
	most := 0.0
	for _, point := range p.Points() {
		rate := float64(mostPerSecond)
		if len(point.Rate) > 0 {
			rate = point.Rate[0]
		} else if pause := mean(load(spec{point: point}, "").Hold()) + mean(p.Think); pause > 0 {
			rate = min(rate, float64(point.Sessions[0])/pause.Seconds())
		}
		most = max(most, rate*(p.Warmup+p.Duration+p.Overtime+p.Drain).Seconds())
	}
	if most*samplesEach <= float64(metrics.Kept) {
		return 0
	}
	return int64(most * samplesEach * float64(metrics.SampleBytes) * judging)
}

// noDisk is the problem that a directory has less than is needed; nil if it has enough, or does not tell: -1.
func noDisk(dir string, need, free int64) error {
	if free < 0 || free >= need {
		return nil
	}
	return fmt.Errorf("%s: the history of a cell may take %s until it is judged, and %s are free: choose another directory with --out, or a shorter duration",
		dir, phrase.Bytes(need), phrase.Bytes(free))
}
