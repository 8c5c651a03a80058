package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is one line of 'go test -json': see 'go doc test2json'.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string

	Elapsed float64 // seconds
}

// test is a test or a subtest.
type test struct{ pkg, name string }

func (t test) top() string { name, _, _ := strings.Cut(t.name, "/"); return name }

// timed is a test that has ended.
type timed struct {
	test
	elapsed float64 // seconds
}

// log is what is known of a run of tests. It is not safe for concurrent use.
type log struct {
	w     io.Writer
	start time.Time

	packages map[string]time.Time // those that run, since when
	tests    map[test]time.Time   // tests that run, since when; not those that wait for their turn, nor subtests
	output   map[test]*strings.Builder
	counts   map[string]*count // by package, while it runs
	total    count
	builds   map[string]*strings.Builder
	ended    []timed
	reasons  map[string]int // why tests were skipped, and how many
	failures []failure
}

type count struct{ passed, failed, skipped int }

func (c count) String() string {
	s := fmt.Sprintf("%d passed, %d failed", c.passed, c.failed)
	if c.skipped > 0 {
		s += fmt.Sprintf(", %d skipped", c.skipped)
	}
	return s
}

// failure is a test, package or build that failed, with what it printed.
type failure struct{ name, output string }

func (l *log) line(format string, args ...any) { fmt.Fprintf(l.w, format+"\n", args...) }

// add processes an event.
func (l *log) add(e event, now time.Time) {
	if l.tests == nil {
		l.packages, l.tests, l.output, l.counts = map[string]time.Time{}, map[test]time.Time{}, map[test]*strings.Builder{}, map[string]*count{}
		l.builds, l.reasons = map[string]*strings.Builder{}, map[string]int{}
	}
	t := test{e.Package, e.Test}
	switch e.Action {
	case "start":
		l.packages[e.Package], l.counts[e.Package] = now, &count{}
	case "pause":
		delete(l.tests, t)
	case "run", "cont":
		if t.name == t.top() {
			l.tests[t] = now
		}
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") {
			put(l.output, t, e.Output)
		}
	case "build-output":
		put(l.builds, e.ImportPath, e.Output)
	case "build-fail":
		l.total.failed++
		l.fail(short(e.ImportPath)+" does not build", text(l.builds, e.ImportPath))
	case "pass", "fail", "skip":
		if e.Test == "" {
			l.endPackage(e)
		} else {
			l.endTest(t, e)
		}
	}
}

func put[K comparable](m map[K]*strings.Builder, k K, text string) {
	if m[k] == nil {
		m[k] = &strings.Builder{}
	}
	m[k].WriteString(text)
}

// text removes and returns what was put.
func text[K comparable](m map[K]*strings.Builder, k K) string {
	b := m[k]
	delete(m, k)
	if b == nil {
		return ""
	}
	return b.String()
}

// unfinished removes and returns what those tests and subtests of a package printed that have not ended, by top-level test. 'go test' attributes the
// goroutines of a panic or a time limit to one of them, or to one that waits for its turn.
func (l *log) unfinished(pkg string) map[string]string {
	all := map[string]string{}
	for _, t := range slices.SortedFunc(maps.Keys(l.output), func(a, b test) int { return strings.Compare(a.name, b.name) }) {
		if t.pkg == pkg && t.name != "" {
			all[t.top()] += text(l.output, t)
		}
	}
	return all
}

func (l *log) endTest(t test, e event) {
	delete(l.tests, t)
	said := text(l.output, t)
	c := l.counts[t.pkg]
	switch e.Action {
	case "pass":
		c.passed++
	case "fail":
		c.failed++
		l.fail(short(t.pkg)+" "+t.name, said)
	case "skip":
		c.skipped++
		l.reasons[reason(said)]++
	}
	if t.name == t.top() {
		l.ended = append(l.ended, timed{t, e.Elapsed})
	}
}

func (l *log) endPackage(e event) {
	c := l.counts[e.Package]
	said := text(l.output, test{e.Package, ""})
	delete(l.packages, e.Package)
	delete(l.counts, e.Package)
	if c == nil || *c == (count{}) && e.Action != "fail" {
		return // it has no tests
	}
	var open []string // tests that a panic or a time limit ended
	printed := l.unfinished(e.Package)
	for t := range l.tests {
		if t.pkg == e.Package {
			open = append(open, t.name)
			c.failed++
			l.fail(short(t.pkg)+" "+t.name, condense(printed[t.name]))
			delete(l.tests, t)
			delete(printed, t.name)
		}
	}
	for _, waiting := range slices.Sorted(maps.Keys(printed)) {
		said += "\n" + condense(printed[waiting])
	}
	word := "ok  "
	if e.Action == "fail" {
		word = "FAIL"
		if c.failed == 0 && e.FailedBuild == "" { // TestMain failed
			c.failed++
			open = append(open, "")
		}
		if len(open) > 0 {
			l.fail(short(e.Package), said)
		}
	}
	l.total.passed += c.passed
	l.total.failed += c.failed
	l.total.skipped += c.skipped
	l.line("%s %-28s %6.1f s   %s", word, short(e.Package), e.Elapsed, c)
}

// fail keeps a failure for the end, and prints its name immediately.
func (l *log) fail(name, output string) {
	l.failures = append(l.failures, failure{name, output})
	l.line("FAIL %s", name)
}

// running prints what is running, the longest first.
func (l *log) running(now time.Time) {
	var names []string
	for _, t := range slices.SortedFunc(maps.Keys(l.tests), func(a, b test) int {
		return cmp.Or(l.tests[a].Compare(l.tests[b]), strings.Compare(a.name, b.name))
	}) {
		names = append(names, fmt.Sprintf("%s %s %s", short(t.pkg), t.name, now.Sub(l.tests[t]).Round(time.Second)))
	}
	const most = 4
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	if len(names) == 0 {
		names = []string{"compiling"}
	}
	l.line("     %s: %s", now.Sub(l.start).Round(time.Second), strings.Join(names, ", "))
}

// end prints the summary when everything has ended, and returns whether anything failed.
func (l *log) end(now time.Time) (failed bool) {
	slices.SortStableFunc(l.ended, func(a, b timed) int { return cmp.Compare(b.elapsed, a.elapsed) })
	l.line("\nThe slowest tests:")
	for _, t := range l.ended[:min(20, len(l.ended))] {
		l.line("%8.1f s  %s %s", t.elapsed, short(t.pkg), t.name)
	}
	if len(l.reasons) > 0 {
		l.line("\nSkipped:")
		for _, why := range slices.SortedFunc(maps.Keys(l.reasons), func(a, b string) int {
			return cmp.Or(l.reasons[b]-l.reasons[a], strings.Compare(a, b))
		}) {
			l.line("%8d  %s", l.reasons[why], why)
		}
	}
	for _, f := range l.failures {
		l.line("\nFAIL %s", f.name)
		if output := strings.TrimRight(f.output, "\n"); output != "" {
			l.line("%s", output)
		}
	}
	l.line("\nTests took %s.", now.Sub(l.start).Round(time.Second))
	l.line("Tests: %s", l.total)
	return len(l.failures) > 0
}

// condense shortens the goroutines of a panic or a time limit to the places in this module, each stack once. It keeps the first goroutine, which panicked.
func condense(output string) string {
	const mark = "goroutine "
	var kept, stacks []string
	counts := map[string]int{}
	for block := range strings.SplitSeq(output, "\n\n") {
		head, frames, _ := strings.Cut(block, "\n")
		_, state, isStack := strings.Cut(strings.TrimSuffix(head, "]:"), " [")
		if !isStack || !strings.HasPrefix(head, mark) || len(kept) < 2 {
			kept = append(kept, block)
			continue
		}
		state, _, _ = strings.Cut(state, ",")
		stack := ""
		for _, place := range places.FindAllStringSubmatch(frames, -1) {
			stack += "\n\t" + place[1] + " " + path.Base(place[2])
		}
		if stack == "" {
			continue
		}
		if stack = state + ":" + stack; counts[stack] == 0 {
			stacks = append(stacks, stack)
		}
		counts[stack]++
	}
	for _, stack := range stacks {
		kept = append(kept, fmt.Sprintf("%d of %s", counts[stack], stack))
	}
	return strings.Join(kept, "\n\n")
}

// places matches a function of this module in the stack of a goroutine, and where in a file it is.
var places = regexp.MustCompile(`(?m)^(?:created by )?github\.com/zkbench/zkbench/(.+?)(?:\([^()]*\)| in goroutine \d+)?\n\t(\S+)`)

// where matches the start of a message of package testing.
var where = regexp.MustCompile(`^\w+\.go:\d+: `)

// reason returns why a test was skipped: the last message that it printed, without the part that is specific to the test.
func reason(output string) string {
	why := "no reason given"
	for text := range strings.Lines(output) {
		text = strings.TrimSpace(text)
		if where.MatchString(text) {
			why = where.ReplaceAllString(text, "")
		}
	}
	if head, _, its := strings.Cut(why, ": "); its {
		why = head
	}
	return why
}

// short returns a package without the module's name, and the variables that its 'go test' was given.
func short(pkg string) string {
	pkg, group, _ := strings.Cut(pkg, " ") // "PACKAGE GROUP VARIABLES", or of a build: "PACKAGE [PACKAGE.test]"
	name := path.Base(pkg)
	if _, inside, ok := strings.Cut(pkg, "/zkbench/zkbench/"); ok {
		name = inside
	}
	if _, set, given := strings.Cut(group, " "); given {
		name += " " + set
	}
	return name
}
