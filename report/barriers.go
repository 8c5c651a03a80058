package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// course is the rows that differ only in the amount of work, such as the number of barriers that each session passes, by that amount.
type course struct {
	label    string
	sessions int
	unit     string // unit of the work, in the singular
	amounts  []int
	rows     []row
}

// courses returns the rows whose cells end when an amount of work is done, in the order of the rows.
func courses(group []row) []course {
	var all []course
	for _, r := range group {
		var work results.Meaning
		n := 0
		for key, value := range r.cells[0].Parameters {
			if m := r.cells[0].Meaning(key); m.Role == results.RoleAmount {
				work = m
				n, _ = strconv.Atoi(fmt.Sprint(value))
			}
		}
		if n < 1 {
			continue
		}
		words := slices.DeleteFunc(strings.Fields(r.label()), func(w string) bool { return strings.HasPrefix(w, work.Key+"=") })
		label := strings.Join(words, " ")
		i := slices.IndexFunc(all, func(c course) bool { return c.label == label && c.sessions == r.sessions })
		if i < 0 {
			i = len(all)
			all = append(all, course{label: label, sessions: r.sessions, unit: work.Unit})
		}
		c := &all[i]
		at, _ := slices.BinarySearch(c.amounts, n)
		c.amounts, c.rows = slices.Insert(c.amounts, at, n), slices.Insert(c.rows, at, r)
	}
	return all
}

// seconds returns how long a row took for each of the barriers; pass 1 for the total.
func seconds(r row, barriers int) figure {
	if r.partial() {
		return figure{}
	}
	alike := func(results.Cell) float64 { return 1 }
	return r.figure(alike, func(c results.Cell) (float64, bool) { return c.ElapsedS / float64(barriers), true })
}

// secondsOf returns the total seconds for each number of barriers. It has no rows if cells do not end with their work.
func secondsOf(group []row) table {
	all := courses(group)
	var numbers []int
	for _, c := range all {
		numbers = append(numbers, c.amounts...)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	var t table
	t.head("", "variant", "variant", true, partKeys)
	t.head("", "sessions", "sessions", false, partKeys)
	for i, n := range numbers {
		t.head("seconds for this many "+all[0].unit+"s", fmt.Sprint(n), phrase.Count(n, all[0].unit)+", s", false, partOfOp+part(i))
	}
	for _, c := range all {
		line := []string{c.label, fmt.Sprint(c.sessions)}
		for _, n := range numbers {
			f := figure{}
			if i := slices.Index(c.amounts, n); i >= 0 {
				f = seconds(c.rows[i], 1)
			}
			line = append(line, f.count())
		}
		t.rows = append(t.rows, line)
	}
	return t
}

func secondsCaption(group []row) string {
	unit := ""
	for _, c := range courses(group) {
		unit = c.unit + "s"
	}
	return fmt.Sprintf("Total seconds, from the first step of any session to the end of the last, for each session to pass this many %s.", unit)
}

// linear is how far the time per barrier may differ between numbers of barriers for the growth to count as linear.
const linear = 0.20

// growth says, for each course with several numbers of barriers, whether the time grows linearly with them.
func growth(group []row) []string {
	var all []string
	for _, c := range courses(group) {
		var each []string
		low, high := 0.0, 0.0
		for i, n := range c.amounts {
			f := seconds(c.rows[i], n)
			if !f.known || f.value <= 0 {
				continue
			}
			if len(each) == 0 || f.value < low {
				low = f.value
			}
			high = max(high, f.value)
			each = append(each, fmt.Sprintf("%s at %d", phrase.Seconds(f.value), n))
		}
		if len(each) < 2 {
			continue
		}
		ratio := high / low
		judged := fmt.Sprintf("the time grows linearly: the longest is %s times the shortest", phrase.Fixed(ratio, 3))
		if ratio > 1+linear {
			judged = fmt.Sprintf("the time does not grow linearly: the longest is %s times the shortest (up to %s counts as linear)", phrase.Fixed(ratio, 3),
				phrase.Fixed(1+linear, 3))
		}
		all = append(all, fmt.Sprintf("%s, %s: each barrier took %s; %s.", c.label, phrase.Count(c.sessions, "session"), strings.Join(each, ", "), judged))
	}
	return all
}
