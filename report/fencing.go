package report

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/results"
)

// fencing returns the table of a run that pauses clients before they write: one row per lock and resource, without and with a fence.
func fencing(all []results.Finding) (t table, counts string) {
	t = table{above: []string{"", "", "", "", "", "accepted", "rejected", ""},
		below: []string{"variant", "resource", "fence", "expected", "seen", "stale", "stale", "counterexample"},
		text:  []bool{true, true, true, true, true, false, false, true}, wrap: true}
	t.markdown = []string{"variant", "resource", "fence", "expected", "seen", "accepted stale", "rejected stale", "counterexample"}
	open, closed, rejected := 0, 0, 0
	for _, f := range all {
		fence, accepted := "none", &open
		if f.Fencing.Fenced {
			fence, accepted = cmp.Or(f.Fencing.Fence, "yes"), &closed
		}
		*accepted += f.Fencing.Accepted
		rejected += f.Fencing.Rejected
		seen, witness := verdictOn(f.Seen).String(), f.Witness
		if f.Error != "" {
			witness = "not played: " + f.Error
			if f.Seen == "" {
				seen = check.Unknown.String()
			}
		}
		if code, _ := f.Fault(); code != 0 {
			seen += " (!)"
		}
		t.rows = append(t.rows, []string{f.Variant, f.Fencing.Resource, fence, verdictOn(f.Expected).String(), seen,
			strconv.Itoa(f.Fencing.Accepted), strconv.Itoa(f.Fencing.Rejected), witness})
	}
	return t, fmt.Sprintf("Late writes of paused clients: without a fence %d were accepted, with one %d were accepted and %d rejected. "+
		"The fence 'token' is enforced by the resource, which remembers the highest token; 'transaction' writes in one transaction with a check "+
		"that the holder's znode exists.", open, closed, rejected)
}

func verdictOn(violation string) check.Answer {
	if violation != "" {
		return check.Violated
	}
	return check.Holds
}
