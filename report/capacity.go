package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// plannedShare is the largest share of a capacity to plan for.
const plannedShare = 0.75

// between is the outcome of a search that found an interval but no figure inside it.
const between = "between"

// atLeast is the outcome of a search whose highest load passed.
const atLeast = "at least"

// cliff is the elasticity above which a little more load costs a lot.
const cliff = 3

// Heading says where the search ran.
func (doc Capacity) Heading() []string {
	e := doc.Environment
	if e == nil {
		return nil
	}
	together := ""
	if doc.Shares > 0 {
		together = "; " + phrase.Count(doc.Shares, "share")
	}
	if len(doc.Probes) > 0 && doc.Probes[0].Znodes != nil {
		together += "; " + phrase.Count(int(*doc.Probes[0].Znodes), "znode") + " before the load"
	}
	return []string{fmt.Sprintf("%s, %s over %s: ZooKeeper %s, %s (%s); %s of %s; seed %d%s", doc.Profile, doc.Variant, doc.Over, e.ZooKeeper, phrase.Count(e.Servers, "server"),
		e.Ensemble, phrase.Count(e.Cores, "core"), e.CPU, doc.Seed, together)}
}

// Sections shows the answer, and the table of all probes.
func (doc Capacity) Sections() []Section {
	var answer Section
	answer.say(CapacitySentence(results.Capacity(doc)))
	answer.say(capacitySentences(results.Capacity(doc))...)
	if e := doc.Environment; e != nil && e.Calibration != nil {
		answer.say(CalibrationOfLoads(*e.Calibration, *e, e.Cores))
	}
	probes := Section{Heading: "Probes"}
	probes.add("", probesOf(results.Capacity(doc)))
	return []Section{answer, probes}
}

// Tests returns the tests of a search.
func (doc Capacity) Tests(name string) Tests {
	return Searches{{"", results.Capacity(doc)}}.Tests(name)
}

// EnsembleSearch is a search on one of several ensembles.
type EnsembleSearch struct {
	Name string // of the ensemble
	results.Capacity
}

// Searches holds searches for the same thing on several ensembles, with a table of them all if there are several.
type Searches []EnsembleSearch

// Heading returns nil: each search has its own.
func (searches Searches) Heading() []string { return nil }

// Sections returns those of each search, and the table.
func (searches Searches) Sections() (all []Section) {
	for _, r := range searches {
		var heading Section
		heading.say(Capacity(r.Capacity).Heading()...)
		all = append(append(all, heading), Capacity(r.Capacity).Sections()...)
	}
	if len(searches) > 1 {
		all = append(all, SearchTable(searches).Sections()...)
	}
	return all
}

// SearchTable is only the table of searches, each compared with the first.
type SearchTable []EnsembleSearch

// Heading returns nil.
func (searches SearchTable) Heading() []string { return nil }

// Sections returns the table.
func (searches SearchTable) Sections() []Section {
	t := table{below: []string{"ensemble", "outcome", "capacity", "from", "to", "of the first", "limit"}, text: []bool{true, true, false, false, false, false, true}, wrap: true}
	for i, r := range searches {
		of := "-"
		if first := searches[0].Load; i > 0 && first != nil && r.Load != nil {
			of = phrase.Number(100**r.Load / *first, 3) + " %"
		}
		t.rows = append(t.rows, []string{r.Name, r.Outcome, loadText(r.Load), loadText(r.Low), loadText(r.High), of, r.Limit})
		t.below[2] = r.Unit
	}
	return []Section{{Parts: []Part{{table: t}}}}
}

// capacitySentences explains the answer: the bracket, how steep the curve is there, what limits the load, how the soak went.
func capacitySentences(doc results.Capacity) (lines []string) {
	if doc.Outcome == "found" {
		of, words := doc.Low, " of the lower end"
		if of == nil {
			of, words = doc.Load, ""
		}
		lines = append(lines, fmt.Sprintf("%s passed%s and %s failed%s, in %s with fresh samples. Plan for at most %s (%.0f %%%s).", loadText(doc.Passed), atP99(doc, doc.Passed, "pass"),
			loadText(doc.Failed), atP99(doc, doc.Failed, "fail"), phrase.Count(doc.Confirmations, "confirmation"), phrase.Number(plannedShare**of, 3), 100*plannedShare, words))
	}
	if doc.IntervalOf != "" {
		lines = append(lines, "The interval is of "+doc.IntervalOf+".")
	}
	if doc.Outcome == between && doc.Low != nil {
		plan := fmt.Sprintf("Plan for at most %s (%.0f %% of the lower end), find", phrase.Number(plannedShare**doc.Low, 3), 100*plannedShare)
		if doc.Plan != nil && *doc.Low <= doc.Plan.From {
			plan = "Too few were seen to conclude that any load above the lowest passes. Find"
		}
		lines = append(lines, "Stops that delay many operations at once occur less often than once per probe. "+plan+
			" what stops the servers (garbage collection, a slow disk, a busy host), or search with a longer --budget.")
	}
	if doc.Outcome == "limited" {
		lines = append(lines, "A higher load needs a stronger generator: more CPUs for zkbench, servers on other machines, or several hosts that search together (--share and --meet, docs/fleet.md).")
	}
	if doc.Elasticity != nil {
		kind := "Flat"
		if *doc.Elasticity > cliff {
			kind = "A cliff"
		}
		lines = append(lines, fmt.Sprintf("%s: 1 %% more load adds %s %% to the percentile in %s.", kind, phrase.Number(*doc.Elasticity, 2), doc.Binding))
	}
	if doc.Outcome == atLeast {
		lines = append(lines, "No load failed, so the limiting resource is unknown. A higher --to continues the search.")
	} else if doc.Limit != "" {
		limit := "Limit: " + strings.Join(append([]string{doc.Limit}, doc.Evidence...), "; ") + "."
		if doc.LeaderCPUs != nil {
			limit += fmt.Sprintf(" Leader CPU %s %% at %s (100 %% is one CPU).", phrase.Number(100**doc.LeaderCPUs, 2), loadText(doc.Failed))
		}
		lines = append(lines, limit)
	}
	lines = append(lines, curve(doc)...)
	if doc.Soak != "" {
		lines = append(lines, "Soak: "+doc.Soak+".")
	} else if doc.Plan != nil && doc.Plan.Soak > 0 && slices.Contains([]string{"none", "unstable", "out of budget"}, doc.Outcome) {
		lines = append(lines, "Soak: not run, because the search found no load to soak at.")
	}
	lines = append(append(append(lines, floor(doc)...), recovery(doc)...), leftovers(doc)...)
	for _, m := range doc.Moves {
		lines = append(lines, "Moved: "+m+".")
	}
	if len(doc.NotMonotone) > 0 {
		lines = append(lines, "Contradictory loads (a lower one failed, a higher one passed): "+figures(doc.NotMonotone))
	}
	return lines
}

// curve reports the critical loads of other limits.
func curve(doc results.Capacity) []string {
	var all []string
	for _, c := range doc.Curve {
		text := "none known"
		switch {
		case c.Load != nil:
			text = fmt.Sprintf("%s (%s to %s)", loadText(c.Load), loadText(c.Low), loadText(c.High))
		case c.Low != nil:
			text = "at least " + loadText(c.Low)
		case c.High != nil:
			text = "less than " + loadText(c.High)
		}
		all = append(all, c.Goal+": "+text)
	}
	if len(all) == 0 {
		return nil
	}
	return []string{"From the same samples, not confirmed by fresh ones: " + strings.Join(all, "; ") + "."}
}

// floor reports, if no figure was found, that the lowest load, when it was last offered, missed a goal nearly as often as allowed: the share of late
// operations then says little about the load.
func floor(doc results.Capacity) []string {
	if doc.Plan == nil || !slices.Contains([]string{between, "unstable", "out of budget"}, doc.Outcome) {
		return nil
	}
	for _, p := range slices.Backward(doc.Probes) {
		if p.Load != doc.Plan.From {
			continue
		}
		for i, allowed := range doc.Plan.Shares[:min(len(doc.Plan.Shares), len(doc.Goals))] {
			due, over := 0, 0
			for _, b := range p.Blocks {
				if i < len(b.Over) {
					due, over = due+b.Due, over+b.Over[i]
				}
			}
			if allowed > 0 && due > 0 && float64(over) > allowed/2*float64(due) {
				return []string{fmt.Sprintf("At the lowest load, %s, %s %% of the operations missed %s (%s %% allowed): these servers come close to the limit at any load. Choose a longer limit, "+
					"or find what delays them.", loadText(&p.Load), phrase.Number(100*float64(over)/float64(due), 2), doc.Goals[i], phrase.Number(100*allowed, 2))}
			}
		}
		return nil
	}
	return nil
}

// slowRecovery is how long the base latency may take to return before a sentence mentions it.
const slowRecovery = 10

// recovery reports how long the servers needed to recover from a probe that was too much.
func recovery(doc results.Capacity) []string {
	longest := 0
	for i, p := range doc.Probes {
		if p.Recovery > doc.Probes[longest].Recovery {
			longest = i
		}
	}
	if longest == 0 || doc.Probes[longest].Recovery < slowRecovery {
		return nil
	}
	p := doc.Probes[longest]
	if p.Decision == "invalid" && len(p.Blocks) == 0 {
		return []string{fmt.Sprintf("Hysteresis: %s s after an overload the latency at the lowest load had not recovered (before probe %d).", phrase.Number(p.Recovery, 2), longest+1)}
	}
	return []string{fmt.Sprintf("After an overload the latency at the lowest load took up to %s s to recover (before probe %d).", phrase.Number(p.Recovery, 2), longest+1)}
}

// leftovers reports where a probe started with more znodes than the first one, because earlier probes left znodes behind.
func leftovers(doc results.Capacity) []string {
	for i, p := range doc.Probes {
		if first := doc.Probes[0].Znodes; first != nil && p.Znodes != nil && *p.Znodes > *first {
			return []string{fmt.Sprintf("Before probe %d there were %s, before the first %.0f: leftovers make the probes differ.", i+1, phrase.Count(int(*p.Znodes), "znode"), *first)}
		}
	}
	return nil
}

// probesOf has one line per probe.
func probesOf(doc results.Capacity) table {
	t := table{below: []string{"probe", "purpose", "load", "due", "done", "over", "p99 ms", "decision", "reason"}, text: []bool{true, true, false, false, false, false, false, true, true}, wrap: true}
	only := "" // the only goal, which needs no name
	if len(doc.Goals) == 1 {
		only = doc.Goals[0] + ": "
	}
	for i, p := range doc.Probes {
		due, done, over := 0, 0, make([]int, len(doc.Goals))
		for _, b := range p.Blocks {
			due, done = due+b.Due, done+b.Done
			for k := range min(len(over), len(b.Over)) {
				over[k] += b.Over[k]
			}
		}
		t.rows = append(t.rows, []string{fmt.Sprint(i + 1), p.Purpose, phrase.Number(p.Load, 4), fmt.Sprint(due), fmt.Sprint(done),
			strings.Trim(fmt.Sprint(over), "[]"), milliseconds(p.P99), decided(p), strings.TrimPrefix(p.Reason, only)})
	}
	return t
}

// decided says what a probe decided about its load; a warm-up decides nothing.
func decided(p results.CapacityProbe) string {
	if p.Purpose == "warm-up" {
		return "-"
	}
	return p.Decision
}

// CapacitySentence states the answer in one sentence.
func CapacitySentence(doc results.Capacity) string {
	goals := strings.Join(doc.Goals, " and ")
	switch {
	case doc.Outcome == "found":
		return fmt.Sprintf("capacity %s %s (95 %%: %s to %s) within %s", loadText(doc.Load), doc.Unit, loadText(doc.Low), loadText(doc.High), goals)
	case doc.Outcome == between:
		return fmt.Sprintf("capacity between %s and %s %s within %s: %s", loadText(doc.Low), loadText(doc.High), doc.Unit, goals, doc.Reason)
	case doc.Outcome == "none" && doc.Failed != nil:
		return fmt.Sprintf("no capacity within %s: even the lowest load, %s %s, fails (%s)", goals, loadText(doc.Failed), doc.Unit, doc.Reason)
	case doc.Outcome == atLeast && doc.Load != nil:
		return fmt.Sprintf("capacity at least %s %s within %s: the highest load allowed (--to) passes", loadText(doc.Load), doc.Unit, goals)
	case doc.Load != nil && doc.High != nil: // found, but a later step did not finish
		without := "the soak"
		if doc.Plan != nil && doc.Plan.Soak == 0 {
			without = "coming back to it"
		}
		return fmt.Sprintf("capacity %s %s (95 %%: %s to %s) within %s, without %s: %s", loadText(doc.Load), doc.Unit, loadText(doc.Low), loadText(doc.High), goals, without, doc.Outcome)
	case doc.Load != nil:
		return fmt.Sprintf("capacity at least %s %s within %s (%s: %s)", loadText(doc.Load), doc.Unit, goals, doc.Outcome, doc.Reason)
	}
	why := doc.Outcome
	if doc.Reason != why {
		why += " (" + doc.Reason + ")"
	}
	return fmt.Sprintf("no capacity within %s: %s; %s passed and %s failed, not confirmed", goals, why, loadText(doc.Passed), loadText(doc.Failed))
}

func loadText(x *float64) string {
	if x == nil {
		return "none"
	}
	return phrase.Number(*x, 4)
}

// atP99 returns the p99 of the last probe of a load with the given decision.
func atP99(doc results.Capacity, load *float64, decision string) string {
	for i := len(doc.Probes) - 1; load != nil && i >= 0; i-- {
		if p := doc.Probes[i]; p.Load == *load && p.P99 != nil && p.Decision == decision {
			return fmt.Sprintf(" (p99 %s ms)", milliseconds(p.P99))
		}
	}
	return ""
}

func milliseconds(x *float64) string {
	if x == nil {
		return "-"
	}
	return phrase.Number(*x, 3)
}

// Tests returns what searches pass or fail: the goals at the load that was asked for, and that each search completed.
func (searches Searches) Tests(name string) Tests {
	t := Tests{Name: name}
	for _, r := range searches {
		c := Case{Suite: strings.TrimSpace("capacity " + r.Name), Name: strings.Join(r.Goals, " and "), Gate: -1, Variant: r.Variant}
		switch r.Exit.Code {
		case 0:
		case 5:
			c.Answer, c.Message = Unknown, r.Exit.Reason
		default:
			c.Answer, c.Message = Failed, r.Exit.Reason
		}
		last := end("the search finishes", []Case{c}, r.Exit, false, 0)
		if r.Name != "" {
			last.Name += " on " + r.Name
		}
		t.Cases = append(t.Cases, c, last)
	}
	if len(searches) > 0 {
		t.Started = searches[0].Started
	}
	return t
}

// figures formats a list of numbers with four digits.
func figures(all []float64) string {
	var texts []string
	for _, load := range all {
		texts = append(texts, phrase.Number(load, 4))
	}
	return strings.Join(texts, ", ")
}
