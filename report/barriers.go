package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// barriersKey is the parameter that says how many barriers each session passes before the cell ends.
const barriersKey = "barriers"

// course is the rows that differ in the number of barriers alone, by that number.
type course struct {
	label    string
	sessions int
	barriers []int
	rows     []row
}

// courses are the rows whose cells end when all barriers are passed, in the order of the rows.
func courses(group []row) []course {
	var all []course
	for _, r := range group {
		n, err := strconv.Atoi(fmt.Sprint(r.cells[0].Parameters[barriersKey]))
		if err != nil || n < 1 {
			continue
		}
		words := slices.DeleteFunc(strings.Fields(r.label()), func(w string) bool { return strings.HasPrefix(w, barriersKey+"=") })
		label := strings.Join(words, " ")
		i := slices.IndexFunc(all, func(c course) bool { return c.label == label && c.sessions == r.sessions })
		if i < 0 {
			i = len(all)
			all = append(all, course{label: label, sessions: r.sessions})
		}
		c := &all[i]
		at, _ := slices.BinarySearch(c.barriers, n)
		c.barriers, c.rows = slices.Insert(c.barriers, at, n), slices.Insert(c.rows, at, r)
	}
	return all
}

// seconds is how long a row took for each barrier; 1 for one in all.
func seconds(r row, barriers int) figure {
	f := figure{known: len(r.cells) > 0 && !r.partial()}
	var all []float64
	for _, c := range r.cells {
		all = append(all, c.ElapsedS/float64(barriers))
	}
	if !f.known {
		return f
	}
	slices.Sort(all)
	f.median, f.lowest, f.highest, f.of = (all[(len(all)-1)/2]+all[len(all)/2])/2, all[0], all[len(all)-1], len(all)
	return f
}

// secondsOf is the total seconds of each number of barriers. It has no rows where cells do not end with their work.
func secondsOf(group []row) table {
	all := courses(group)
	var numbers []int
	for _, c := range all {
		numbers = append(numbers, c.barriers...)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	t := table{above: []string{"", ""}, below: []string{"variant", "sessions"}, markdown: []string{"variant", "sessions"}, text: []bool{true, false}}
	for i, n := range numbers {
		above := ""
		if i == 0 {
			above = "barriers"
		}
		t.above, t.below, t.text = append(t.above, above), append(t.below, fmt.Sprint(n)), append(t.text, false)
		t.markdown = append(t.markdown, fmt.Sprintf("%d barriers", n))
	}
	for _, c := range all {
		line := []string{c.label, fmt.Sprint(c.sessions)}
		for _, n := range numbers {
			f := figure{}
			if i := slices.Index(c.barriers, n); i >= 0 {
				f = seconds(c.rows[i], 1)
			}
			line = append(line, f.text())
		}
		t.rows = append(t.rows, line)
	}
	return t
}

const secondsCaption = "Seconds in all, from the first step of any session to the end of the last, for each to pass so many barriers."

// linear is by how much the time for a barrier may differ between numbers of barriers for the growth to be called linear.
const linear = 0.20

// growth says for each course of several numbers of barriers whether the time grows linearly with them.
func growth(group []row) []string {
	var all []string
	for _, c := range courses(group) {
		var each []string
		low, high := 0.0, 0.0
		for i, n := range c.barriers {
			f := seconds(c.rows[i], n)
			if !f.known || f.median <= 0 {
				continue
			}
			if len(each) == 0 || f.median < low {
				low = f.median
			}
			high = max(high, f.median)
			each = append(each, fmt.Sprintf("%s ms at %d", number(1000*f.median), n))
		}
		if len(each) < 2 {
			continue
		}
		ratio := high / low
		judged := fmt.Sprintf("the time grows linearly, for the longest is %s times the shortest", number(ratio))
		if ratio > 1+linear {
			judged = fmt.Sprintf("the time does not grow linearly, for the longest is %s times the shortest, where %s would do", number(ratio),
				number(1+linear))
		}
		all = append(all, fmt.Sprintf("%s, %d sessions: each barrier took %s; %s.", c.label, c.sessions, strings.Join(each, ", "), judged))
	}
	return all
}
