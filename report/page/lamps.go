package page

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// lamp answers one of the four questions at the top of a page: good, fair (unknown or doubtful) or bad.
type lamp struct{ question, class, answer, detail string }

// marks distinguish lamps without colour.
var marks = map[string]string{"good": "● yes", "fair": "◐ in part", "bad": "○ no", "none": "–"}

func lamps(run *results.Run) []lamp {
	n := len(run.Cells)
	count := func(is func(results.Cell) bool) (k int) {
		for _, c := range run.Cells {
			if is(c) {
				k++
			}
		}
		return k
	}
	light := func(question string, bad int, worst, good, trouble string) lamp {
		l := lamp{question: question, class: "good", detail: good}
		if bad > 0 {
			l.class, l.detail = worst, fmt.Sprintf("%d of %s: %s", bad, phrase.Count(n, "cell"), trouble)
		}
		return l
	}
	if n == 0 {
		return nil
	}
	open := count(func(c results.Cell) bool { return c.Loop == "open" })
	load := light("Load sustained?", count(func(c results.Cell) bool { return c.Saturated }), "bad", "all work that came due was served", "not all work that came due was served")
	if open == 0 {
		load.detail = "closed loop: the load is what the sessions ask for"
	}
	generator := light("Generator idle enough?", count(func(c results.Cell) bool { return c.Generator.Saturated }), "bad", "zkbench was never what limited a cell", "zkbench itself was the limit")
	if late := count(func(c results.Cell) bool { return c.Generator.Late }); generator.class == "good" && late > 0 {
		generator = light(generator.question, late, "fair", "", "timers were late, but not because of zkbench")
	}
	few := 0
	pooled := run.Pooled()
	for _, c := range pooled {
		if l := c.Latency[timedOp(c)+".response"]; timedOp(c) != "" && l.P99 == nil {
			few++
		}
	}
	samples := light("Enough samples?", few, "fair", "every p99 is known", "too few for a p99")
	if few > 0 {
		samples.detail = fmt.Sprintf("%d of %s, repetitions together: too few for a p99", few, phrase.Count(len(pooled), "cell"))
	}
	return []lamp{load, generator, samples, hosts(run)}
}

// hosts answers whether all servers of all ensembles replied.
func hosts(run *results.Run) lamp {
	var there []string
	for _, e := range run.Everywhere() {
		switch {
		case e.Answered == nil:
			return lamp{"All servers answering?", "none", "", "not recorded"}
		case *e.Answered < e.Servers || e.Voting != nil && *e.Answered < *e.Voting:
			return lamp{"All servers answering?", "bad", "", fmt.Sprintf("%d of %d answered", *e.Answered, max(e.Servers, deref(e.Voting)))}
		}
		there = append(there, fmt.Sprint(e.Servers))
	}
	if len(there) == 1 {
		return lamp{"All servers answering?", "good", "", phrase.Count(run.Environment.Servers, "server") + " answered"}
	}
	return lamp{"All servers answering?", "good", "", strings.Join(there, ", ") + " servers answered"}
}

func deref(p *int) int {
	if p == nil {
		return 0
	}
	return *p
}
