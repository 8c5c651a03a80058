package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// Sections has the tables of a run by workload, each followed by what the table cannot say.
func (doc Run) Sections() (all []Section) {
	run := results.Run(doc)
	rows := rowsOf(run)
	if len(run.Findings) > 0 {
		t, counts := findings(run.Findings)
		s := Section{Heading: "Findings"}
		s.add("", t, append([]string{counts}, through(run.Findings)...)...)
		all = append(all, s)
	} else if len(rows) == 0 {
		all = append(all, Section{Parts: []Part{{Sentences: []string{"No cell was measured."}}}})
	}
	for _, group := range workloads(rows) {
		s := Section{Caption: caption(group)}
		s.add("", tableOf(group), append(nonEmpty(repetitionsCaption(group)), ownShares(run, group)...)...)
		s.add(secondsCaption(group), secondsOf(group), growth(group)...)
		s.say(sentences(group)...)
		if !group[0].givesGrants() {
			s.add(costsCaption(group), costsOf(group))
		}
		s.add(fidelityCaption, fidelityOf(group), fidelitySentences(group)...)
		s.add(sidesCaption, sidesOf(group))
		s.add(clientsCaption, clientsOf(group))
		s.add(faultsCaption(group), faultsOf(group))
		for _, t := range stormTables(group) {
			s.add(t.caption, t.table)
		}
		s.say(faultSentences(group)...)
		for _, t := range reconnections(group) {
			s.add(t.caption, t.table)
		}
		s.say(captionsOf(group)...)
		s.say(waits(group)...)
		s.add(fanoutCaption, fanoutOf(group))
		s.say(judgements(group)...)
		s.say(warnings(group)...)
		all = append(all, s)
	}
	if len(run.Gates) > 0 {
		s := Section{Caption: gatesCaption(run)}
		s.add("", gatesOf(run), gateSentences(run)...)
		all = append(all, s)
	}
	if p := besidePaper(run); p.caption != "" {
		s := Section{Caption: p.caption}
		s.add("", p.table, p.sentences...)
		all = append(all, s)
	}
	exit := run.Exit
	if run.Partial { // the heading says why
		exit = results.Exit{}
	}
	return append(all, notes(exit, calibration(run), run.Notes))
}

// exitSentence says why the exit code is what it is; it is empty if no reason was recorded.
func exitSentence(exit results.Exit) []string {
	if exit.Reason == "" {
		return nil
	}
	return []string{fmt.Sprintf("Exit code %d: %s", exit.Code, stop(exit.Reason))}
}

// Headline summarizes a run in one sentence: what was violated, how its variants compare, or what its only cell did.
func Headline(run results.Run) string {
	rows := rowsOf(run)
	if len(run.Findings) > 0 {
		_, counts := findings(run.Findings)
		return counts
	}
	for _, r := range rows {
		if promise, broken := strings.CutPrefix(r.verdict(), "VIOLATED"); broken {
			return fmt.Sprintf("%s violated its guarantees: %s.", r.title(), strings.TrimSpace(promise))
		}
	}
	if all := fidelitySentences(rows); len(all) > 0 {
		return all[0]
	}
	if all := sentences(rows); len(all) > 0 {
		if i := slices.IndexFunc(all, func(s string) bool { return !strings.Contains(s, " are not comparable at ") }); i > 0 {
			return all[i]
		}
		return all[0]
	}
	if len(rows) == 0 {
		return "No cell was measured."
	}
	r := slices.MaxFunc(rows, func(a, b row) int { return cmp.Compare(a.grants.value, b.grants.value) })
	text := fmt.Sprintf("%s: %s %s per second", r.title(), r.grants.rate(), r.unit())
	if r.p50.known {
		text += fmt.Sprintf(", median response %s ms", r.p50.rate())
	}
	return text + "."
}

// Verdict returns the overall verdict of a run's checks: holds, unknown, or violated.
func Verdict(run results.Run) string {
	answer := "holds"
	for _, f := range run.Findings {
		if code, _ := f.Fault(); code == 4 {
			return "violated"
		}
	}
	for _, r := range rowsOf(run) {
		switch verdict := r.verdict(); {
		case strings.HasPrefix(verdict, "VIOLATED"):
			return "violated"
		case verdict != "holds" && r.unsettled():
			answer = "unknown"
		}
	}
	if len(run.Cells) == 0 && len(run.Findings) == 0 {
		return "unknown"
	}
	return answer
}
