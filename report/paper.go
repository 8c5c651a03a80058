package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
)

// The measurements of Hunt et al., 'ZooKeeper: Wait-free coordination for Internet-scale systems', USENIX ATC 2010.
var (
	paperThroughput = map[int]struct{ writes, reads float64 }{3: {21_000, 87_000}, 5: {18_000, 165_000}, 7: {14_000, 257_000}, 9: {12_000, 296_000}} // table 1, by servers
	paperCreates    = map[int]map[int]float64{                                                                                                       // table 2, by servers and workers
		3: {1: 776, 10: 2074, 20: 2740}, 5: {1: 748, 10: 1832, 20: 2336}, 7: {1: 758, 10: 1572, 20: 1934}, 9: {1: 711, 10: 1540, 20: 1890}}
	paperBarriers = map[int]map[int]float64{ // table 3, by barriers and clients, in seconds
		200: {50: 9.4, 100: 19.8, 200: 41.0}, 400: {50: 16.4, 100: 34.1, 200: 62.0}, 800: {50: 28.9, 100: 55.9, 200: 112.1}, 1600: {50: 54.0, 100: 102.7, 200: 234.4}}
)

// paperPart is a table of the paper next to what the run measured, and whether the run has the paper's shape.
type paperPart struct {
	caption   string
	table     table
	sentences []string
}

// besidePaper returns the part for a profile that repeats a table of the paper; without a caption for others.
func besidePaper(run results.Run) (p paperPart) {
	rows := slices.DeleteFunc(rowsOf(run), func(r row) bool { return r.partial() })
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(serversOf(run, a), serversOf(run, b)) })
	table, about := "", ""
	switch run.Profile {
	case "paper-throughput":
		table, about = "1", "requests per second of saturated servers"
		p = throughputBesidePaper(run, rows)
	case "paper-creates":
		table, about = "2", "znodes of 1 KiB created per second, while as many are deleted"
		p = createsBesidePaper(run, rows)
	case "double-barriers":
		table, about = "3", "seconds for all clients to pass this many double barriers"
		p = barriersBesidePaper(rows)
	}
	if len(p.table.rows) == 0 {
		return paperPart{}
	}
	p.caption = fmt.Sprintf("Table %s of the ZooKeeper paper (Hunt et al., USENIX ATC 2010) beside this run: %s.", table, about)
	if others := othersOf(rows); others > disturbing {
		p.sentences = []string{fmt.Sprintf("Other processes used up to %s %% of this machine's CPU time in a cell: differences between cells may come from them, so the shape is not judged. "+
			"Repeat the run when the machine is quiet.", phrase.Number(100*others, 2))}
		if table == "1" && slices.ContainsFunc(run.Everywhere(), sharesCores) {
			p.sentences = append(p.sentences, "In the paper, more servers mean fewer writes and more reads. Servers that share the cores of one machine cannot show the second.")
		}
	}
	if slices.ContainsFunc(run.Everywhere(), sharesCores) {
		p.sentences = append(p.sentences, "The paper's servers were machines of their own; the servers here share the cores of one machine, with zkbench.")
	}
	return p
}

// disturbing is the share of the CPU time used by other processes above which cells are not compared with each other.
const disturbing = 0.25

// othersOf returns the largest share of the CPU time that other processes used in a cell; 0 if it is unknown.
func othersOf(rows []row) (most float64) {
	for _, r := range rows {
		for _, c := range r.cells {
			if m := c.Machine; m != nil && m.Seconds > 0 && m.CPUs > 0 {
				most = max(most, m.Others/(m.Seconds*float64(m.CPUs)))
			}
		}
	}
	return most
}

// serversOf returns the number of servers that a row was measured with.
func serversOf(run results.Run, r row) int { return run.EnvironmentOf(r.cells[0]).Servers }

// throughputBesidePaper compares the extremes, and says whether the throughput rises with the share of reads, writes fall with the number of servers,
// and reads rise with it.
func throughputBesidePaper(run results.Run, rows []row) (p paperPart) {
	here := map[int]map[int]float64{} // by servers and percent of reads
	for _, r := range rows {
		if share, ok := readsOf(r.cells[0]); ok {
			n := serversOf(run, r)
			if here[n] == nil {
				here[n] = map[int]float64{}
			}
			here[n][share] = r.grants.value
		}
	}
	p.table.head("", "servers", "servers", false, partKeys)
	for i, what := range []string{"writes/s", "reads/s", "reads per write"} {
		p.table.head(what, "paper", what+", paper", false, partOfOp+part(i))
		p.table.head(what, "here", what+", here", false, partOfOp+part(i))
	}
	sizes := slices.Sorted(maps.Keys(here))
	var falls []string
	writes, reads := trendOver{}, trendOver{}
	for _, n := range sizes {
		w, r, paper := here[n][0], here[n][100], paperThroughput[n]
		p.table.rows = append(p.table.rows, []string{fmt.Sprint(n), orDash(paper.writes, 3), orDash(w, 2), orDash(paper.reads, 3), orDash(r, 2),
			orDash(ratio(paper.reads, paper.writes), 2), orDash(ratio(r, w), 2)})
		writes.add(n, w)
		reads.add(n, r)
		if fall := fallsWithReads(here[n]); fall != "" {
			falls = append(falls, fmt.Sprintf("with %d servers it falls%s", n, fall))
		}
	}
	if len(falls) > 0 {
		p.sentences = append(p.sentences, "Unlike in the paper the throughput of this run does not always rise with the share of reads: "+strings.Join(falls, "; ")+".")
	} else if slices.ContainsFunc(sizes, func(n int) bool { return len(here[n]) > 1 }) {
		p.sentences = append(p.sentences, "As in the paper the throughput of this run rises with the share of reads.")
	}
	if len(sizes) < 2 {
		return p.say("In the paper writes fall with the number of servers, and reads rise. This run has one number: --set ensemble=[3,5,7] measures several.")
	}
	p = p.say(writes.against("writes", "fall", func(before, after float64) bool { return after < before }))
	if slices.ContainsFunc(run.Everywhere(), sharesCores) {
		return p.say(fmt.Sprintf("In the paper reads rise with the number of servers. In this run they were %s: servers that share the cores of one machine cannot show it.", reads))
	}
	return p.say(reads.against("reads", "rise", func(before, after float64) bool { return after > before }))
}

func (p paperPart) say(text string) paperPart {
	if text != "" {
		p.sentences = append(p.sentences, text)
	}
	return p
}

// fallsWithReads says where the throughput falls as the share of reads grows; "" if it rises everywhere.
func fallsWithReads(here map[int]float64) (falls string) {
	shares := slices.Sorted(maps.Keys(here))
	for i := 1; i < len(shares); i++ {
		if a, b := shares[i-1], shares[i]; here[b] < here[a] {
			falls += fmt.Sprintf(", from %s/s at %d %% to %s/s at %d %%", phrase.Number(here[a], 2), a, phrase.Number(here[b], 2), b)
		}
	}
	return falls
}

// trendOver holds rates by the number of servers, ascending.
type trendOver struct {
	servers []int
	rates   []float64
}

func (t *trendOver) add(servers int, rate float64) {
	if rate > 0 {
		t.servers, t.rates = append(t.servers, servers), append(t.rates, rate)
	}
}

func (t trendOver) String() string {
	var words []string
	for i, rate := range t.rates {
		words = append(words, fmt.Sprintf("%s/s with %s", phrase.Number(rate, 2), phrase.Count(t.servers[i], "server")))
	}
	return strings.Join(words, ", ")
}

// against says whether rates change with the number of servers as they do in the paper; "" for fewer than two.
func (t trendOver) against(what, verb string, step func(before, after float64) bool) string {
	if len(t.rates) < 2 {
		return ""
	}
	for i := 1; i < len(t.rates); i++ {
		if !step(t.rates[i-1], t.rates[i]) {
			return fmt.Sprintf("Unlike in the paper %s of this run do not always %s with the number of servers: they were %s.", what, verb, t)
		}
	}
	return fmt.Sprintf("As in the paper %s of this run %s with the number of servers: %s.", what, verb, t)
}

// createsBesidePaper compares the creates for each number of workers.
func createsBesidePaper(run results.Run, rows []row) (p paperPart) {
	p.table.head("", "servers", "servers", false, partKeys)
	p.table.head("", "workers", "workers", false, partKeys)
	p.table.head("creates/s", "paper", "creates/s, paper", false, partOfOp)
	p.table.head("creates/s", "here", "creates/s, here", false, partOfOp)
	rises, most, last := true, 0, map[int]float64{}
	byServers := map[int]*trendOver{}
	for _, r := range rows {
		f := r.figure(byTime, func(c results.Cell) (float64, bool) { return float64(doneOf(c, "create")) / c.ElapsedS, c.ElapsedS > 0 })
		if !f.known {
			continue
		}
		n := serversOf(run, r)
		p.table.rows = append(p.table.rows, []string{fmt.Sprint(n), fmt.Sprint(r.sessions), orDash(paperCreates[n][r.sessions], 4), orDash(f.value, 2)})
		if before, some := last[n]; some {
			rises, most = rises && f.value > before, max(most, 2)
		}
		if last[n] = f.value; byServers[r.sessions] == nil {
			byServers[r.sessions] = &trendOver{}
		}
		byServers[r.sessions].add(n, f.value)
	}
	switch {
	case most < 2:
	case rises:
		p = p.say("As in the paper more workers create more.")
	default:
		p = p.say("Unlike in the paper more workers did not always create more in this run.")
	}
	workers := slices.Sorted(maps.Keys(byServers))
	if len(workers) > 0 { // the largest number of workers loads the servers most
		n := workers[len(workers)-1]
		p = p.say(byServers[n].against("creates of "+phrase.Count(n, "worker"), "fall", func(before, after float64) bool { return after < before }))
	}
	return p
}

// barriersBesidePaper compares the seconds for each number of barriers and clients.
func barriersBesidePaper(rows []row) (p paperPart) {
	numbers := slices.Sorted(maps.Keys(paperBarriers))
	p.table.head("", "variant", "variant", true, partKeys)
	p.table.head("", "clients", "clients", false, partKeys)
	for i, n := range numbers {
		p.table.head(phrase.Count(n, "barrier"), "paper s", phrase.Count(n, "barrier")+", paper, s", false, partOfOp+part(i))
		p.table.head(phrase.Count(n, "barrier"), "here s", phrase.Count(n, "barrier")+", here, s", false, partOfOp+part(i))
	}
	var rates []float64 // enters and leaves per second
	for _, c := range courses(rows) {
		line := []string{c.label, fmt.Sprint(c.sessions)}
		for _, n := range numbers {
			f := figure{}
			if i := slices.Index(c.amounts, n); i >= 0 {
				f = seconds(c.rows[i], 1)
			}
			if line = append(line, orDash(paperBarriers[n][c.sessions], 4), f.count()); f.known && f.value > 0 {
				rates = append(rates, float64(2*n*c.sessions)/f.value)
			}
		}
		p.table.rows = append(p.table.rows, line)
	}
	if len(rates) == 0 {
		return paperPart{}
	}
	return p.say(fmt.Sprintf("In the paper all clients together entered and left 1950 to 3100 times a second; here %s to %s times. There a client enters all its barriers before it leaves "+
		"the first, and its own time counts, in the mean of five runs; here it leaves each before it enters the next, and the time is that of the last client.",
		phrase.Number(slices.Min(rates), 2), phrase.Number(slices.Max(rates), 2)))
}

// orDash formats a number with the given digits; "-" for 0, which means unknown.
func orDash(v float64, digits int) string {
	if v == 0 {
		return "-"
	}
	return phrase.Number(v, digits)
}

// ratio returns a/b; 0 if it is unknown.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// sharesCores reports whether the servers were started on the machine that generated the load.
func sharesCores(e results.Environment) bool {
	return strings.HasPrefix(e.Ensemble, "local") || strings.HasPrefix(e.Ensemble, "compose")
}

// readsOf returns the percentage of gets among the requests of a mix of gets and sets.
func readsOf(c results.Cell) (int, bool) {
	weights := map[string]int{}
	for part := range strings.SplitSeq(fmt.Sprint(c.Parameters["mix"]), ", ") {
		word, weight, _ := strings.Cut(part, " ")
		n, err := strconv.Atoi(weight)
		if err != nil || word != "get" && word != "set" {
			return 0, false
		}
		weights[word] = n
	}
	return 100 * weights["get"] / max(weights["get"]+weights["set"], 1), true
}
