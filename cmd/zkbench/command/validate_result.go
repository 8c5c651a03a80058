package command

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/results"
)

func (a *app) validateResult(_ context.Context, args []string) error {
	f := a.flags("validate-result DIR...", `Checks that the files of a run do not contradict each other: that the histograms of intervals.hlog are those of run.json to the last
digit, that operations are throughput x length, that the phases of acquisitions sum up to their service within 1 %, that there are no fewer
requests than any recipe needs, and that nothing unknown is given as 0. A capacity search is repeated from what its probes measured, and each
probe is checked as a run. Exit code 1 if they contradict each other.`)
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return usagef("validate-result takes the directories of results")
	}
	bad := false
	for _, dir := range f.Args() {
		if d, err := results.ReadDocument(dir); err == nil && d.Capacity != nil {
			bad = a.recounted(dir, d.Capacity) || bad
			continue
		}
		r, err := results.Read(dir)
		if err != nil {
			return err
		}
		contradictions, err := results.Validate(dir)
		if err != nil {
			return err
		}
		for _, c := range contradictions {
			fmt.Fprintf(a.stdout, "%s: %s\n", dir, c)
		}
		if len(contradictions) == 0 {
			fmt.Fprintf(a.stdout, "%s: consistent (%s)\n", dir, phrase.Count(len(r.Cells), "cell"))
		}
		bad = bad || len(contradictions) > 0
	}
	if bad {
		return exitError(exitFailed)
	}
	return nil
}

// contradictions prints where a result contradicts itself, which is a bug in zkbench, and reports whether it does. It ignores a directory that
// cannot be read, because the code that writes the directory reports that.
func (a *app) contradictions(dir string) (some bool) {
	all, _ := results.Validate(dir)
	for _, c := range all {
		fmt.Fprintf(a.stderr, "%s: the result contradicts itself, which is a bug in zkbench: %s\n", program.Name(), c)
	}
	return len(all) > 0
}
