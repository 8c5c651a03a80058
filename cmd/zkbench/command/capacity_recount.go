package command

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// planKept returns a plan in the form in which the document keeps it.
func planKept(p capacity.Plan) *results.CapacityPlan {
	kept := &results.CapacityPlan{Method: capacity.Method, From: p.From, To: p.To, Width: p.Width, Confirm: p.Confirm, Block: p.Block.Seconds(), Budget: p.Budget.Seconds(), SoakShare: p.Soak.Share,
		Soak: p.Soak.Length.Seconds(), Rate: p.Rate, RatePerLoad: p.RatePerLoad}
	for _, g := range p.Goals {
		kept.Shares = append(kept.Shares, g.Share)
	}
	return kept
}

// again repeats the search of a document from the measurements of its probes. The contradictions are the results that differ.
func again(doc *results.Capacity) (contradictions []string, err error) {
	plan := capacity.Plan{From: doc.Plan.From, To: doc.Plan.To, Width: doc.Plan.Width, Block: duration(doc.Plan.Block), Confirm: doc.Plan.Confirm, Budget: duration(doc.Plan.Budget),
		Soak: capacity.Soak{Share: doc.Plan.SoakShare, Length: duration(doc.Plan.Soak)}, Seed: doc.Seed, Rate: doc.Plan.Rate, RatePerLoad: doc.Plan.RatePerLoad}
	if len(doc.Goals) != len(doc.Plan.Shares) {
		return []string{fmt.Sprintf("%d goals, but shares of %d", len(doc.Goals), len(doc.Plan.Shares))}, nil
	}
	for i, name := range doc.Goals {
		plan.Goals = append(plan.Goals, capacity.Goal{Name: name, Share: doc.Plan.Shares[i]})
	}
	for _, c := range doc.Curve {
		plan.Curve = append(plan.Curve, capacity.Goal{Name: c.Goal, Share: c.Share})
	}
	search, err := capacity.New(plan)
	if err != nil {
		return nil, err
	}
	differ := func(format string, args ...any) {
		contradictions = append(contradictions, fmt.Sprintf(format, args...))
	}
	for i, p := range doc.Probes {
		probe, more := search.Next()
		if !more || math.Abs(probe.Load-p.Load) > 1e-9*p.Load || string(probe.Purpose) != p.Purpose {
			differ("%s: %s at %v does not follow from the probes before (expected %s at %v)", p.Dir, p.Purpose, p.Load, probe.Purpose, probe.Load)
			return contradictions, nil
		}
		for k, b := range p.Blocks {
			if all := len(plan.Goals) + len(plan.Curve); len(b.Over) != all {
				differ("%s: block %d has %d counts for %d goals", p.Dir, k, len(b.Over), all)
				return contradictions, nil
			}
		}
		search.Tell(p.Measurement)
		if j := search.Result().Steps[i].Judgement; j.Decision.String() != p.Decision {
			differ("%s: %s by its counts (%s), but the document says %s", p.Dir, j.Decision, j.Reason, p.Decision)
		}
	}
	if slices.Contains([]string{outcomeInterrupted, outcomeFailed, outcomeLost}, doc.Outcome) {
		return contradictions, nil
	}
	recounted := &results.Capacity{Goals: doc.Goals, Least: doc.Least}
	figures(recounted, search.Result())
	if recounted.Outcome != doc.Outcome {
		differ("outcome %q by its probes, but the document says %q", recounted.Outcome, doc.Outcome)
	}
	if recounted.Soak != doc.Soak {
		differ("soak %q by its probes, but the document says %q", recounted.Soak, doc.Soak)
	}
	figures := []struct {
		name      string
		got, want *float64
	}{{"capacity", doc.Load, recounted.Load}, {"interval_low", doc.Low, recounted.Low}, {"interval_high", doc.High, recounted.High},
		{"passed", doc.Passed, recounted.Passed}, {"failed", doc.Failed, recounted.Failed}, {"elasticity", doc.Elasticity, recounted.Elasticity}}
	for i, c := range doc.Curve {
		want := recounted.Curve[i]
		for name, both := range map[string][2]*float64{"capacity": {c.Load, want.Load}, "interval_low": {c.Low, want.Low}, "interval_high": {c.High, want.High}} {
			figures = append(figures, struct {
				name      string
				got, want *float64
			}{c.Goal + ": " + name, both[0], both[1]})
		}
	}
	for _, f := range figures {
		if (f.got == nil) != (f.want == nil) || f.got != nil && math.Abs(*f.got-*f.want) > 1e-6*math.Abs(*f.want) {
			differ("%s is %s, but %s by its probes", f.name, figureText(f.got), figureText(f.want))
		}
	}
	return contradictions, nil
}

func figureText(x *float64) string {
	if x == nil {
		return "unknown"
	}
	return fmt.Sprint(*x)
}

func duration(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// recounted prints the contradictions in a search and in its probes, and reports whether there are any. The directories of the probes may be missing.
func (a *app) recounted(dir string, doc *results.Capacity) (bad bool) {
	var all []string
	older := ""
	if doc.Plan == nil {
		all = append(all, "it has no plan, so it cannot be repeated")
	} else {
		found, err := again(doc)
		if len(found) > 0 && doc.Plan.Method < capacity.Method { // a different result of today's method does not contradict it
			found, older = nil, "; the search used an older method, which this version does not repeat"
		}
		if all = append(all, found...); err != nil {
			all = append(all, "plan: "+err.Error())
		}
	}
	runs, err := fs.Glob(os.DirFS(dir), probeDir+"*/"+results.RunFile) // including the waits for the base latency and interrupted runs
	if err != nil {
		all = append(all, err.Error())
	}
	for _, file := range runs {
		probe := path.Dir(file)
		found, err := results.Validate(filepath.Join(dir, probe))
		if err != nil {
			found = append(found, err.Error())
		}
		for _, c := range found {
			all = append(all, probe+": "+c)
		}
	}
	for _, c := range all {
		fmt.Fprintf(a.stdout, "%s: %s\n", dir, c)
	}
	if len(all) == 0 {
		fmt.Fprintf(a.stdout, "%s: consistent (%s, %s of them checked%s)\n", dir, phrase.Count(len(doc.Probes), "probe"), phrase.Count(len(runs), "run"), older)
	}
	return len(all) > 0
}
