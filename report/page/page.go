package page

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
)

// The files of a page. The style sheet has to lie beside the page, unless that is a single file.
const (
	File      = "report.html"
	StyleFile = "report.css"
)

//go:embed report.css
var style string

// WriteFile writes the page of documents into a file, and the style sheet beside it; single puts it into the page, which a
// strict Content-Security-Policy then does not let work.
func WriteFile(file string, single bool, sources ...Source) error {
	var b strings.Builder
	if err := Write(&b, single, sources...); err != nil {
		return err
	}
	if !single {
		if err := os.WriteFile(filepath.Join(filepath.Dir(file), StyleFile), []byte(style), 0o644); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Write writes the page of documents, one below the other. It is well-formed XML.
func Write(w io.Writer, single bool, sources ...Source) error {
	h := &html{}
	title := "zkbench"
	if len(sources) > 0 {
		title = titleOf(sources[0])
	}
	h.b.WriteString("<!DOCTYPE html>\n")
	h.open("html", "lang", "en")
	h.open("head")
	h.empty("meta", "charset", "utf-8")
	h.empty("meta", "name", "viewport", "content", "width=device-width, initial-scale=1")
	h.element("title", title)
	if single {
		h.b.WriteString("<style>\n" + style + "</style>\n")
	} else {
		h.empty("link", "rel", "stylesheet", "href", StyleFile)
	}
	h.end("head")
	h.open("body")
	for i, s := range sources {
		h.prefix = ""
		if i > 0 {
			h.prefix = fmt.Sprintf("d%d-", i+1)
		}
		h.open("main")
		switch {
		case s.Comparison != nil:
			h.comparison(s)
		case s.Trend != nil:
			h.trend(s)
		case s.Capacity != nil:
			h.capacity(s)
		default:
			h.run(s)
		}
		h.end("main")
	}
	h.element("footer", "Made by zkbench from the result's documents alone. The numbers are below each plot. Times are in milliseconds unless stated otherwise.")
	h.end("body")
	h.end("html")
	_, err := io.WriteString(w, h.b.String())
	return err
}

func titleOf(s Source) string {
	switch {
	case s.Run != nil:
		return "zkbench " + s.Run.Profile + ", " + s.Run.Started.UTC().Format("2006-01-02 15:04")
	case s.Comparison != nil:
		return "zkbench: " + s.Comparison.Baseline.Name + " and " + s.Comparison.Candidate.Name
	}
	if s.Capacity != nil {
		return "zkbench capacity of " + s.Capacity.Profile + ", " + s.Capacity.Started.UTC().Format("2006-01-02 15:04")
	}
	return "zkbench: trend of " + phrase.Count(len(s.Trend.Runs), "run")
}

// html writes elements.
type html struct {
	canvas
	prefix string // of the ids of this document
}

func (h *html) plots(all ...*plot) {
	all = slices.DeleteFunc(all, func(p *plot) bool { return p == nil })
	if len(all) == 0 {
		return
	}
	h.open("div", "class", "plots")
	for _, p := range all {
		p.id = h.prefix + identifier(p.id)
		h.open("figure", "id", p.id)
		h.open("figcaption")
		h.b.WriteString(xmlText(p.question))
		h.element("small", p.note)
		h.end("figcaption")
		h.b.WriteString(p.render())
		h.open("details")
		h.element("summary", "Numbers")
		text := make([]bool, len(p.head))
		for i := range p.head {
			text[i] = slices.ContainsFunc(p.rows, func(r []string) bool {
				return i < len(r) && strings.ContainsAny(strings.ToLower(r[i]), "abcdfghijklmnopqrstuvwxyz:")
			})
		}
		h.table(report.Table{Head: p.head, Text: text, Rows: p.rows})
		h.end("details")
		h.end("figure")
	}
	h.end("div")
}

// identifier is a text as an id.
func identifier(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, s)
}

func (h *html) table(t report.Table) {
	class := func(i int) []any {
		if i < len(t.Text) && t.Text[i] {
			return []any{"class", "w"}
		}
		return nil
	}
	h.open("div", "class", "scroll")
	h.open("table")
	h.open("thead")
	h.open("tr")
	for i, head := range t.Head {
		h.element("th", head, class(i)...)
	}
	h.end("tr")
	h.end("thead")
	h.open("tbody")
	for _, r := range t.Rows {
		h.open("tr")
		for i, value := range r {
			h.element("td", strings.ReplaceAll(value, "\n", " "), class(i)...)
		}
		h.end("tr")
	}
	h.end("tbody")
	h.end("table")
	h.end("div")
}

func (h *html) sections(all []report.Section) {
	for _, s := range all {
		if s.Caption != "" {
			h.element("h3", s.Caption)
		}
		for _, t := range s.Tables {
			if t.Caption != "" {
				h.element("p", t.Caption)
			}
			h.table(t)
		}
		for _, text := range s.Sentences {
			h.element("p", text)
		}
	}
}

func (h *html) top(over, class, badge, headline string, all []lamp) {
	h.element("p", over, "class", "over")
	h.open("p")
	h.element("span", badge, "class", "badge "+class)
	h.end("p")
	first, rest := sentence(headline)
	h.element("h1", first)
	if rest != "" {
		h.element("p", rest, "class", "rest")
	}
	if len(all) == 0 {
		return
	}
	h.open("ul", "class", "lamps")
	for _, l := range all {
		h.open("li")
		h.element("span", marks[l.class], "class", "mark "+l.class)
		h.element("b", l.question)
		h.b.WriteString(xmlText(l.detail))
		h.end("li")
	}
	h.end("ul")
}

// ending is where a sentence ends and another one begins.
var ending = regexp.MustCompile(`\. [A-Z]`)

// sentence is the first sentence of a text, and the others.
func sentence(text string) (first, rest string) {
	if at := ending.FindStringIndex(text); at != nil {
		return text[:at[0]+1], text[at[0]+2:]
	}
	return text, ""
}

func (h *html) facts(pairs ...string) {
	h.open("dl")
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		h.element("dt", pairs[i])
		h.element("dd", pairs[i+1])
	}
	h.end("dl")
}

// run is the page of a run.
func (h *html) run(s Source) {
	run := s.Run
	verdict := report.Verdict(*run)
	class := map[string]string{"holds": "good", "violated": "bad", "unknown": "fair"}[verdict]
	h.top(titleOf(s), class, map[string]string{"holds": "holds", "violated": "VIOLATED", "unknown": "not enough evidence"}[verdict], report.Headline(*run), lamps(run))
	e := run.Environment
	var facts []string
	ran := report.RanOn(*run)
	facts = append(facts, "Ran", strings.Join(ran, " "))
	machine := fmt.Sprintf("%s MiB memory, kernel %s, %s", count(int64(e.MemoryMiB)), e.Kernel, e.Go)
	if e.Java != "" {
		machine += ", " + filepath.Base(e.Java)
	}
	if e.FsyncMs != nil {
		machine += fmt.Sprintf(", a sync takes %s ms", phrase.Number(*e.FsyncMs, 2))
	}
	facts = append(facts, "On", machine, "Took", phrase.Duration(run.Finished.Sub(run.Started).Round(1e9))+", "+phrase.Count(len(run.Cells), "cell"))
	if run.Exit.Code != 0 {
		facts = append(facts, "Exit code", fmt.Sprintf("%d: %s", run.Exit.Code, run.Exit.Reason))
	}
	h.facts(facts...)
	if len(run.Command) > 0 {
		h.element("pre", commandLine(run.Command))
	}
	all := cells(run)
	for _, group := range byWorkload(all) {
		h.element("h2", "Load and response: "+group[0].Workload)
		h.plots(slices.Concat([]*plot{throughput(run, group), responses(run, group), rates(run, group)}, herd(group), parts(group), []*plot{idle(run, group)},
			s.fairness(group))...)
	}
	for i, c := range all {
		if i == 0 {
			h.element("h2", "Cell by cell")
		}
		id := fmt.Sprintf("%d", i+1)
		h.element("h3", cellTitle(all, c))
		h.plots(slices.Concat([]*plot{s.spectrum(c, id), s.heatMap(c, id), s.cohorts(c, id), s.leaderless(c, id)}, s.strips(c, id), s.depths(c, id),
			s.arrivals(c, id))...)
	}
	if servers := s.servers(); len(servers) > 0 {
		h.element("h2", "Servers")
		h.plots(servers...)
	}
	if connects := slices.DeleteFunc([]*plot{s.opening(all), connecting(run)}, func(p *plot) bool { return p == nil }); len(connects) > 0 {
		h.element("h2", "Connections")
		h.plots(connects...)
	}
	h.element("h2", "Tables")
	h.sections(report.Sections(*run))
}

// cellTitle names a cell by what sets it apart.
func cellTitle(all []results.Cell, c results.Cell) string {
	for _, v := range curves(all, "sessions") {
		for _, other := range v.cells {
			if other.Workload == c.Workload && other.Same(c) {
				return v.label + ", " + phrase.Count(c.Sessions, "session")
			}
		}
	}
	return c.Variant
}

// commandLine is what repeats a run, quoted for a shell.
func commandLine(words []string) string {
	var out []string
	for _, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$`*?[]{}()<>|&;#~!") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}
