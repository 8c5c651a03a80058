// Package docs holds the part of the documentation that the command prints: what the words of a report mean.
package docs

import (
	_ "embed"
	"slices"
	"strings"
)

// Reading is docs/reading.md: every term of a report below a heading of the third level, which names it and its other spellings.
//
//go:embed reading.md
var Reading string

// Term is what one heading of Reading explains.
type Term struct {
	Names []string // as reports write them
	Text  string   // Markdown
}

// Terms are all terms, in their order.
func Terms() (all []Term) {
	for section := range strings.SplitSeq(Reading, "\n### ") {
		head, text, _ := strings.Cut(section, "\n")
		if strings.HasPrefix(head, "#") { // what comes before the first
			continue
		}
		text, _, _ = strings.Cut(text, "\n## ")
		var names []string
		for name := range strings.SplitSeq(head, "`, `") {
			names = append(names, strings.Trim(name, "`"))
		}
		all = append(all, Term{names, strings.TrimSpace(text)})
	}
	return all
}

// Explain is the terms of a name, without regard to case; none if no report has it.
func Explain(name string) (some []Term) {
	for _, t := range Terms() {
		if slices.ContainsFunc(t.Names, func(n string) bool { return strings.EqualFold(n, name) }) {
			some = append(some, t)
		}
	}
	return some
}
