package main

import (
	"fmt"
	"slices"
	"strings"
)

// table returns the Markdown of all figures, and how many limits were missed.
func table(all []measured, runs int) (text string, missed int) {
	var b strings.Builder
	fmt.Fprintf(&b, "Medians of %d runs, the generators in turn; in brackets the ratio of medians to the floor; 'again' is that of a second floor like the first.\n\n", runs)
	b.WriteString("| work | figure | floor | go-zookeeper/zk | zkbench | limit | |\n|---|---|---|---|---|---|---|\n")
	for _, m := range all {
		for i, f := range m.figures {
			v := m.values[i]
			verdict := "kept"
			switch {
			case f.limit == 0:
				verdict = ""
			case !f.kept(v):
				verdict = "missed"
				missed++
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", m.title, f.title, f.cell(v, "floor"), f.cell(v, "gozk"),
				f.cell(v, "native"), f.promise(v), verdict)
		}
	}
	return b.String(), missed
}

// cell returns a generator's median and its ratio to the floor's.
func (f figure) cell(v map[string][]float64, generator string) string {
	if len(v[generator]) == 0 {
		return "-"
	}
	text := number(median(v[generator])) + " " + f.unit
	if generator == "floor" && len(v[again]) > 0 {
		text += fmt.Sprintf(" (again: %.2f)", median(v[again])/median(v["floor"]))
	}
	if len(v["floor"]) > 0 && generator != "floor" {
		text += fmt.Sprintf(" (%.2f)", median(v[generator])/median(v["floor"]))
	}
	return text
}

// judged returns the number that the limit applies to.
func (f figure) judged(v map[string][]float64) float64 {
	if len(v["floor"]) > 0 {
		return median(v["native"]) / median(v["floor"])
	}
	return median(v["native"])
}

func (f figure) kept(v map[string][]float64) bool {
	if f.least {
		return f.judged(v) >= f.limit
	}
	return f.judged(v) <= f.limit
}

func (f figure) promise(v map[string][]float64) string {
	if f.limit == 0 {
		return "-"
	}
	text := "at most "
	if f.least {
		text = "at least "
	}
	if text += fmt.Sprint(f.limit); len(v["floor"]) == 0 {
		text += " " + f.unit
	}
	return text
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// number prints three digits or so, no more than the measurement is worth.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
