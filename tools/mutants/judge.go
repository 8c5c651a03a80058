package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

// fate is the outcome for a mutant.
type fate uint8

const (
	unjudged  fate = iota // it is not in the sample or the list
	unreached             // no test runs the changed code
	noticed
	survived
)

// quick bounds the total time of the tests of a first round, which most mutants do not survive.
const quick = 2 * time.Second

// judge runs the tests that reach each mutant against it; if among is not nil, only for the mutants in it, and if sample is not 0, only for that many mutants.
func judge(ctx context.Context, suites []suite, mutants []mutant, among map[string]bool, sample, workers int) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for n := range next {
				mutants[n].fate = judgeOne(ctx, suites, n)
				if mutants[n].fate == survived && ctx.Err() == nil {
					fmt.Fprintf(os.Stderr, "%d of %d: survived: %s:%d %s\n", n+1, len(mutants), mutants[n].file, mutants[n].line, mutants[n])
				}
			}
		})
	}
	for n := range mutants {
		if ctx.Err() != nil {
			break
		}
		if sample > 0 && n*sample%len(mutants) >= sample {
			continue
		}
		if among == nil || among[mutants[n].String()] {
			next <- n
		}
	}
	close(next)
	wg.Wait()
}

func judgeOne(ctx context.Context, suites []suite, n int) fate {
	f := unreached
	for _, slow := range []bool{false, true} {
		for i := range suites {
			names, total := suites[i].reaching(n, slow)
			if len(names) == 0 {
				continue
			}
			f = survived
			if _, err := suites[i].run(ctx, names, 10*time.Second+5*total, chosen(n)); err != nil && ctx.Err() == nil {
				return noticed
			}
		}
	}
	return f
}

// reaching returns the tests of the suite that reach a mutant, and their total time: the fast tests, or the others.
func (s *suite) reaching(n int, slow bool) (names []string, total time.Duration) {
	sum := time.Duration(0)
	for _, t := range s.tests { // the fastest first
		if t.reaches[n] == 0 {
			continue
		}
		sum += t.took
		if late := sum > quick && sum > t.took; late == slow {
			names, total = append(names, t.name), total+t.took
		}
	}
	return names, total
}

var printedLine = regexp.MustCompile(`survived: \S+:\d+ (.+)$`)

// readAmong reads the survivors that a run has printed; nil if path is empty.
func readAmong(path string) (map[string]bool, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	among := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if m := printedLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			among[m[1]] = true
		}
	}
	return among, nil
}

var knownLine = regexp.MustCompile("^- `(.+)`: (.+)$")

// readKnown reads which mutants are harmless: lines '- `MUTANT`: REASON'.
func readKnown(path string) (map[string]bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	known := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m := knownLine.FindStringSubmatch(lines.Text()); m != nil {
			known[m[1]] = true
		}
	}
	return known, lines.Err()
}

// summarize prints the survivors without a reason, and by directory the share of mutants that was noticed. It reports whether each survivor
// has a reason and the share is at least 90 % everywhere.
func summarize(w io.Writer, mutants []mutant, known map[string]bool) (enough bool) {
	type tally struct{ reached, noticed, unknown, unreached int }
	tallies := map[string]*tally{}
	var order []string
	for _, m := range mutants {
		if m.fate == unjudged {
			continue
		}
		dir := m.file[:strings.LastIndexByte(m.file, '/')+1]
		t := tallies[dir]
		if t == nil {
			t = &tally{}
			tallies[dir] = t
			order = append(order, dir)
		}
		switch {
		case m.fate == unreached:
			t.unreached++
			continue
		case m.fate == noticed:
			t.noticed++
		case !known[m.String()]:
			t.unknown++
			fmt.Fprintf(w, "survived: %s:%d %s\n", m.file, m.line, m)
		}
		t.reached++
	}
	enough = true
	for _, dir := range order {
		t := tallies[dir]
		share := float64(t.noticed) / float64(max(t.reached, 1))
		fmt.Fprintf(w, "%s: tests reach %d changes and notice %d (%.1f %%); %d of the others have no reason; %d are reached by no test\n",
			strings.TrimSuffix(dir, "/"), t.reached, t.noticed, 100*share, t.unknown, t.unreached)
		enough = enough && share >= 0.9 && t.unknown == 0
	}
	return enough
}
