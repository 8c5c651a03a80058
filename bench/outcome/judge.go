package outcome

import (
	"fmt"
	"iter"
	"runtime"
	"sync"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// Disagreement is what servers have lost although they had acknowledged it: writes that the run made in addition to its load, or znodes below a cell that one
// server has and another one lacks, though both have applied everything. Servers that die while they synchronize can cause that (ZOOKEEPER-4712,
// ZOOKEEPER-4785; docs/findings.md). Then sessions hang, and znodes are left or missing, whatever the recipe does.
type Disagreement struct {
	Compared int // writes, or ephemeral znodes
	Lost     int
	Text     string
}

// serversAgree is a check that appears in a result only if it is violated: servers have lost acknowledged writes, or replicas differ permanently.
const serversAgree = "servers-agree"

// judge returns the verdicts of the checks, as the document states them and as the checks gave them.
func (c *Cell) judge() ([]results.Check, []named) {
	if c.Merged != nil {
		return c.judgeAcross()
	}
	c.Refusals.record(c.History.Shard(0))
	checks, _ := c.checks()
	verdicts := c.verdicts(checks)
	out, all := make([]results.Check, len(checks)), make([]named, len(checks))
	for i, v := range verdicts {
		if c.Lost != nil {
			v = check.Verdict{Detail: "not judged: " + c.Lost.Error()}
		}
		if checks[i].Left && v.Answer == check.Violated && !c.Share.Whole() {
			v = check.Verdict{Evidence: v.Evidence, Detail: v.Detail + ", but not known here is what the servers refused to other shares: merge the shares to tell"}
		}
		if checks[i].Held && v.Answer == check.Holds {
			v = c.Driver.relied(v)
		}
		all[i] = named{checks[i].Name, verdicts[i]}
		out[i] = c.stated(checks[i].Name, v)
	}
	return append(out, c.agreement()...), all
}

// checks returns the checks that this share's samples suffice for, and the names of the others: a violation among some of the sessions is a violation. The
// lowest share checks what is left in ZooKeeper.
func (c *Cell) checks() (mine []check.Check, others []string) {
	for _, k := range c.Work.Checks() {
		switch {
		case c.Share.Whole(), k.Part, k.Left && c.Share.Lowest():
			mine = append(mine, k)
		default:
			others = append(others, k.Name)
		}
	}
	return mine, others
}

// verdicts runs as many checks at a time as there are CPUs: they only read.
func (c *Cell) verdicts(checks []check.Check) []check.Verdict {
	verdicts := make([]check.Verdict, len(checks))
	for range c.History.All() { // wait until pending writes are on the disk, or have failed
		break
	}
	if err := c.History.Err(); c.Lost == nil && err != nil {
		c.Lost = Incomplete(err)
	}
	var wait sync.WaitGroup
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, k := range checks {
		places <- struct{}{}
		wait.Go(func() {
			verdicts[i] = c.excused(k.Verdict(c.evidence(), c.History.Room()))
			<-places
		})
	}
	wait.Wait()
	return verdicts
}

// Incomplete returns an error that says that samples of a history could not be kept.
func Incomplete(err error) error {
	return fmt.Errorf("the history of the operations is not complete: %w", err)
}

// evidence returns the history for the checks. If the ensemble was lost, it leaves out the sessions that were still waiting: they were cut off for an unknown
// time, which is neither an attempt that the end of the run cut short nor evidence about the recipe.
func (c *Cell) evidence() iter.Seq[metrics.Sample] {
	if !c.EnsembleLost {
		return c.History.All()
	}
	return func(yield func(metrics.Sample) bool) {
		for s := range c.History.All() {
			if s.Outcome != metrics.Unfinished && !yield(s) {
				return
			}
		}
	}
}

// excused turns a violation into an unknown verdict if the servers disagree: they may have caused it.
func (c *Cell) excused(v check.Verdict) check.Verdict {
	if c.Disagreement == nil || v.Answer != check.Violated {
		return v
	}
	return check.Verdict{Evidence: v.Evidence, Detail: c.Disagreement.Text + ": " + v.Detail}
}

// agreement returns the check of the servers themselves, or nothing if they agree.
func (c *Cell) agreement() []results.Check {
	d := c.Disagreement
	if d == nil {
		return nil
	}
	return []results.Check{{Name: serversAgree, Verdict: check.Violated.String(), Evidence: d.Compared, Count: d.Lost, Detail: d.Text + ", which is no recipe's fault"}}
}

// stated puts a verdict into words. Missing contention is no lack of evidence if the profile plans none, as in a baseline of one session, nor in one share of
// a run, whose sessions contend with those of others.
func (c *Cell) stated(name string, v check.Verdict) results.Check {
	k := results.FromVerdict(name, v)
	if what := c.Refusals.of(v.Refused); what != "" {
		k.Detail += ": " + what
	}
	w, some := c.Work.(workloads.Contending)
	switch {
	case !v.Uncontended || !some:
	case !w.Contends():
		k.Uncontended = true
		k.Detail += ", and by the profile nobody does, so the exit code leaves it out"
	case !c.Share.Whole():
		k.Uncontended = true
		k.Detail += " in this share"
	}
	return k
}

// relied returns a verdict about simultaneous holds; if it holds but the driver suspended most grants, which ended them early, it becomes unknown.
func (d *Driver) relied(v check.Verdict) check.Verdict {
	if d == nil || 2*d.Suspended <= d.Holds {
		return v
	}
	return check.Verdict{Judges: v.Judges, Detail: fmt.Sprintf("not judged: the driver suspended %d of %d grants, which ended their holds for the checks", d.Suspended, d.Holds)}
}
