package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// Question is what documents answer, and those that do.
type Question struct {
	Text    string
	Entries []Entry
}

// Entry is a document in an index.
type Entry struct {
	results.Named
	Answer  string   // a sentence
	Facts   []string // what ran where, with how many sessions, and why the exit code is not 0
	Command string   // that repeats it; "" if the document does not have it
}

// The questions of an index, in its order. Those about one workload come first: "Which lock?"
const (
	whichLibrary = "Which library?"
	whichStore   = "Which store?"
	whichVersion = "Which version of ZooKeeper?"
	howMany      = "How many sessions, how much load?"
	encryption   = "What does a secure connection cost?"
	whenBroken   = "What happens when something breaks?"
	whoBreaks    = "Which recipes break their promises, and when?"
	replayed     = "What does traffic of one's own do to an ensemble?"
	whichSide    = "Which of two?"
	overTime     = "What has changed over time?"
	others       = "What else was measured?"
)

var asked = []string{whichLibrary, whichStore, whichVersion, howMany, encryption, whenBroken, whoBreaks, replayed, whichSide, overTime, others}

// Index groups documents by the questions that they answer, which follow from what differs within each: variants, libraries, stores, versions, sessions. A
// document may answer several, and answers at least one.
func Index(all []results.Named) (index []Question) {
	found := map[string][]Entry{}
	for _, d := range all {
		e := Entry{Named: d, Answer: Summary(d.Document), Facts: facts(d.Document), Command: CommandLine(d.Command())}
		for _, q := range questions(d.Document) {
			found[q] = append(found[q], e)
		}
	}
	var first []string
	for _, q := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(asked, q) {
			first = append(first, q)
		}
	}
	for _, q := range append(first, asked...) {
		if len(found[q]) > 0 {
			index = append(index, Question{q, found[q]})
		}
	}
	return index
}

// questions returns what a document answers.
func questions(d results.Document) (all []string) {
	switch {
	case d.Comparison != nil:
		return []string{whichSide}
	case d.Trend != nil:
		return []string{overTime}
	case d.Capacity != nil:
		return []string{howMany}
	}
	several := func(of func(results.Cell) string) bool {
		return slices.ContainsFunc(d.Run.Cells, func(c results.Cell) bool { return of(c) != of(d.Run.Cells[0]) })
	}
	driver := func(c results.Cell) results.Driver {
		if c.Driver == nil {
			return results.Driver{Store: "zookeeper"}
		}
		return *c.Driver
	}
	differing := func(of func(results.Environment) any) bool {
		every := d.Run.Everywhere()
		return slices.ContainsFunc(every, func(e results.Environment) bool { return of(e) != of(every[0]) })
	}
	switch {
	case several(func(c results.Cell) string { return driver(c).Store }):
		all = append(all, whichStore)
	case several(func(c results.Cell) string { return driver(c).Name }):
		all = append(all, whichLibrary)
	case several(func(c results.Cell) string { return c.Variant }):
		for _, c := range d.Run.Cells {
			if q := "Which " + c.Workload + "?"; !slices.Contains(all, q) {
				all = append(all, q)
			}
		}
	}
	if differing(func(e results.Environment) any { return e.ZooKeeper }) {
		all = append(all, whichVersion)
	}
	if several(func(c results.Cell) string { return fmt.Sprint(c.Sessions) }) {
		all = append(all, howMany)
	}
	if differing(func(e results.Environment) any { return e.Encrypted }) {
		all = append(all, encryption)
	}
	if slices.ContainsFunc(d.Run.Cells, func(c results.Cell) bool { return len(c.Faults) > 0 }) {
		all = append(all, whenBroken)
	}
	if len(d.Run.Findings) > 0 {
		all = append(all, whoBreaks)
	}
	if slices.ContainsFunc(d.Run.Cells, func(c results.Cell) bool { return c.Fidelity != nil }) {
		all = append(all, replayed)
	}
	if len(all) == 0 {
		all = append(all, others)
	}
	return all
}

// Summary sums up a document in a sentence or a few.
func Summary(d results.Document) string {
	switch {
	case d.Run != nil:
		return Headline(*d.Run)
	case d.Capacity != nil:
		return CapacitySentence(*d.Capacity) + "."
	case d.Comparison != nil:
		counts := map[string]int{}
		for _, cell := range d.Comparison.Cells {
			for _, m := range cell.Metrics {
				counts[m.Verdict]++
			}
		}
		var words []string
		for _, verdict := range slices.Sorted(maps.Keys(counts)) {
			words = append(words, fmt.Sprintf("%d %s", counts[verdict], strings.ToLower(verdict)))
		}
		return fmt.Sprintf("%s against %s: %s.", d.Comparison.Candidate.Name, d.Comparison.Baseline.Name, strings.Join(words, ", "))
	}
	changes, worse := 0, 0
	for _, s := range d.Trend.Series {
		for _, c := range s.Changes {
			changes++
			if c.Verdict == "REGRESSION" {
				worse++
			}
		}
	}
	return fmt.Sprintf("%s in %d series over %s, %d for the worse.", phrase.Count(changes, "change point"), len(d.Trend.Series), phrase.Count(len(d.Trend.Runs), "run"), worse)
}

func facts(d results.Document) []string {
	all := slices.Clone(Of(d).Heading())
	exit := results.Exit{}
	switch {
	case d.Run != nil:
		exit = d.Run.Exit
		if len(d.Run.Cells) > 0 {
			fewer := func(a, b results.Cell) int { return a.Sessions - b.Sessions }
			least, most := slices.MinFunc(d.Run.Cells, fewer).Sessions, slices.MaxFunc(d.Run.Cells, fewer).Sessions
			text := phrase.Count(most, "session")
			if least < most {
				text = fmt.Sprintf("%d to %s", least, text)
			}
			all = append(all, text)
		}
	case d.Capacity != nil:
		exit = d.Capacity.Exit
	case d.Comparison != nil:
		exit = d.Comparison.Exit
	default:
		exit = d.Trend.Exit
	}
	if exit.Code != 0 {
		all = append(all, fmt.Sprintf("exit code %d: %s", exit.Code, exit.Reason))
	}
	return all
}

// MarkdownIndex writes an index in Markdown, with links to the documents and their profiles: base is what they begin with, such as ../results/published/.
func MarkdownIndex(w io.Writer, base string, index []Question) error {
	var b strings.Builder
	for _, q := range index {
		fmt.Fprintf(&b, "\n## %s\n", q.Text)
		for _, e := range q.Entries {
			link := base + e.Name + "/"
			fmt.Fprintf(&b, "\n**[%s](%s)**: %s\n\n%s.", e.Name, link+results.RunFile, e.Answer, strings.TrimSuffix(strings.Join(e.Facts, "; "), "."))
			if e.Profile() != "" {
				fmt.Fprintf(&b, " [Its profile](%s).", link+results.ProfileFile)
			}
			b.WriteString("\n")
			if e.Command != "" {
				fmt.Fprintf(&b, "\n    %s\n", e.Command)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// CommandLine returns the command that repeats a run, quoted for a shell.
func CommandLine(words []string) string {
	var out []string
	for _, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$`*?[]{}()<>|&;#~!") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}
