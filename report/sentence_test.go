package report

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// at returns a row with these grants per second and hand-offs, one of each per repetition.
func at(variant string, sessions int, grants, handOff []float64) row {
	r := row{workload: "lock", variant: variant, loop: "closed", sessions: sessions, objects: 1, grants: figureOf(grants, alike(grants)), handOff: figureOf(handOff, alike(handOff))}
	for _, g := range grants {
		r.cells = append(r.cells, results.Cell{Measured: ofLock, Operations: int64(1000 * g)})
	}
	return r
}

func violated(r row) row {
	r.cells[0].Checks = []results.Check{{Name: "mutual-exclusion", Verdict: "violated"}}
	return r
}

func unsafe(r row) row {
	r.cells[0].Unsafe = true
	return r
}

func failing(r row, errors int64) row {
	r.cells[0].Errors = map[string]int64{"failed": errors}
	return r
}

func saturated(r row) row {
	r.cells[0].Generator.Saturated = true
	return r
}

func partial(r row) row {
	r.cells[0].Partial = true
	return r
}

// offered returns an open-loop row with this median response.
func offered(variant string, p50 figure) row {
	r := at(variant, 10, []float64{100}, nil)
	r.loop, r.offered, r.p50 = "open", 100, p50
	return r
}

// Open-loop rows are compared by their known responses: not at all if there is none for all operations, or if it is a lower
// bound because part of the load was not served.
func TestOpenLoopsAreComparedByKnownResponses(t *testing.T) {
	p50 := func(v float64) figure { return figureOf([]float64{v}, []float64{1}) }
	least := p50(400)
	least.atLeast = true
	passing := func(r row) row {
		r.cells[0].Measured = ofQueue
		return r
	}
	for _, c := range []struct {
		sentence string
		a, b     row
		want     string
	}{
		{"both are known", offered("fifo", p50(10)), offered("claim", p50(40)), "fifo had a 4.0 times shorter response than claim at 10 contenders"},
		{"of queues it is the time from put to take", passing(offered("fifo", p50(10))), passing(offered("claim", p50(40))), "fifo had a 4.0 times shorter time from put to take than claim at 10 sessions per object"},
		{"one is not known", offered("fifo", p50(10)), offered("claim", figure{}), "not comparable at 10 contenders: the response of all operations is not known"},
		{"the longer one is a lower bound", offered("fifo", p50(10)), offered("claim", least), "claim did not serve all of the load, so its response is a lower bound"},
		{"the shorter one is a lower bound", offered("fifo", least), offered("claim", p50(4000)), "fifo did not serve all of the load, so its response is a lower bound"},
	} {
		if got := strings.Join(sentences([]row{c.a, c.b}), " "); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.sentence, got, c.want)
		}
	}
}

// A row is compared by the first of its histograms that covers all operations: for a queue, the transit of its items.
func TestWhatARowIsComparedBy(t *testing.T) {
	one, two := map[string]results.Latency{"change.response": {Count: 9, P50: 3}}, map[string]results.Latency{"take.response": {Count: 9, P50: 500},
		"put.response": {Count: 9, P50: 4}, "put-to-take.response": {Count: 9, P50: 7}}
	for _, c := range []struct {
		name    string
		counted []string
		latency map[string]results.Latency
		want    string
	}{{"one operation", []string{"change"}, one, "3.0"}, {"a queue", []string{"take", "put"}, two, "7.0"},
		{"several operations", []string{"join", "change"}, one, "-"}} {
		cell := results.Cell{Workload: "w", Variant: "v", Measured: measured(c.counted...), Latency: c.latency}
		if c.name == "a queue" {
			cell.Measured = ofQueue
		}
		rows := rowsOf(results.Run{Cells: []results.Cell{cell}})
		if got := rows[0].p50.rate(); got != c.want {
			t.Errorf("%s: compared by %s, want %s", c.name, got, c.want)
		}
	}
}

func TestSentences(t *testing.T) {
	type f = []float64
	for _, c := range []struct {
		sentence string
		rows     []row
		want     string
	}{
		{"one variant has nobody to beat", []row{at("naive", 10, f{70}, f{3})}, ""},
		{"what is told is of the largest number",
			[]row{at("naive", 10, f{77, 78}, f{2.8, 3}), at("predecessor", 10, f{77.5, 79}, f{2.9, 3}),
				at("naive", 100, f{50, 55}, f{8, 9}), at("predecessor", 100, f{70, 75}, f{2.9, 3}),
				at("naive", 300, f{20, 21}, f{14, 15}), at("predecessor", 300, f{64, 67.2}, f{2.8, 2.9})},
			"predecessor had 3.2 times the grants per second of naive and a 5.1 times shorter hand-off at 300 contenders{none}."},
		{"whatever came before it",
			[]row{at("naive", 10, f{50, 50}, nil), at("predecessor", 10, f{70, 70}, nil),
				at("naive", 100, f{50, 60}, nil), at("predecessor", 100, f{55, 65}, nil),
				at("naive", 300, f{30, 30}, nil), at("predecessor", 300, f{60, 60}, nil)},
			"predecessor had 2.0 times the grants per second of naive at 300 contenders{none}."},
		{"ranges that meet",
			[]row{at("naive", 10, f{60, 70, 80}, f{3, 4}), at("predecessor", 10, f{78, 90, 99}, f{2, 3})},
			"predecessor had 1.3 times the grants per second of naive and a 1.4 times shorter hand-off at 10 contenders{none}."},
		{"a little more",
			[]row{at("naive", 10, f{100}, f{3}), at("predecessor", 10, f{105}, f{3})},
			"predecessor had 1.05 times the grants per second of naive and about the same hand-off at 10 contenders{none}."},
		{"a half more",
			[]row{at("naive", 10, f{100}, f{3}), at("predecessor", 10, f{150}, f{3})},
			"predecessor had 1.5 times the grants per second of naive and about the same hand-off at 10 contenders{none}."},
		{"the shorter hand-off alone",
			[]row{at("naive", 10, f{100, 101}, f{6, 6}), at("predecessor", 10, f{100, 101}, f{3, 3})},
			"predecessor had about the same grants per second as naive and a 2.0 times shorter hand-off at 10 contenders{none}."},
		{"more grants and a longer hand-off",
			[]row{at("naive", 10, f{100, 101}, f{3, 3}), at("predecessor", 10, f{200, 201}, f{6, 6})},
			"naive had 0.50 times the grants per second of predecessor and a 2.0 times shorter hand-off at 10 contenders{none}."},
		{"who violates safety is compared with nobody, however fast",
			[]row{violated(at("broken", 10, f{900, 900}, f{1, 1})), at("naive", 10, f{50, 50}, f{6, 6}), at("predecessor", 10, f{100, 100}, f{3, 3})},
			"predecessor had 2.0 times the grants per second of naive and a 2.0 times shorter hand-off at 10 contenders{none}; " +
				"broken is not comparable: it violated mutual-exclusion at 10 contenders."},
		{"a published fault that did not show is told all the same",
			[]row{unsafe(at("index", 10, f{100, 100}, f{3, 3})), at("lease", 10, f{50, 50}, f{6, 6})},
			"index had 2.0 times the grants per second of lease and a 2.0 times shorter hand-off at 10 contenders{none}. " +
				"index is kept as published, with known defects: do not use it, however fast it is."},
		{"nobody is left when the other violates",
			[]row{violated(at("broken", 10, f{900}, f{1})), at("naive", 10, f{50}, f{6})},
			"broken is not comparable: it violated mutual-exclusion at 10 contenders."},
		{"who was granted nothing", []row{at("naive", 10, f{0}, nil), at("predecessor", 10, f{50}, nil)},
			"naive is not comparable: it got no grant at 10 contenders."},
		{"who was cut short", []row{partial(at("naive", 10, f{50}, nil)), at("predecessor", 10, f{50}, nil)},
			"naive is not comparable: it was cut short at 10 contenders."},
		{"different shares of errors come before any number",
			[]row{failing(at("naive", 10, f{50, 50}, f{6, 6}), 10_000), at("predecessor", 10, f{100, 100}, f{3, 3})},
			"naive and predecessor are not comparable at 10 contenders: 9.1 % of the operations of naive failed and 0 % of those of predecessor."},
		{"errors in like shares do not matter",
			[]row{failing(at("naive", 10, f{50, 50}, f{6, 6}), 1000), failing(at("predecessor", 10, f{100, 100}, f{3, 3}), 2000)},
			"predecessor had 2.0 times the grants per second of naive and a 2.0 times shorter hand-off at 10 contenders{none}."},
		{"a saturated generator bounds what the factor says",
			[]row{saturated(at("naive", 10, f{50, 50}, f{6, 6})), at("predecessor", 10, f{100, 100}, f{3, 3})},
			"predecessor had 2.0 times the grants per second of naive and a 2.0 times shorter hand-off at 10 contenders, " +
				"but zkbench itself was the bottleneck: this does not measure the servers{none}."},
		{"three variants, one sentence",
			[]row{at("naive", 100, f{50, 50}, f{6, 6}), at("predecessor", 100, f{100, 100}, f{3, 3}), at("single-node", 100, f{99, 101}, f{3, 3})},
			"predecessor had 2.0 times the grants per second of naive and a 2.0 times shorter hand-off at 100 contenders; " +
				"predecessor had about the same grants per second as single-node and about the same hand-off at 100 contenders{none}."},
		{"no number of contenders in common", []row{at("naive", 10, f{50, 50}, nil), at("predecessor", 100, f{50, 50}, nil)},
			"naive and predecessor were not measured with the same number of contenders."},
	} {
		got := ""
		for _, s := range sentences(c.rows) {
			got += s
		}
		few := regexp.MustCompile(` \(seen in this run; no conclusion from . runs? of each: fewer than . cannot tell a difference from chance\)`)
		if got = few.ReplaceAllString(got, "{none}"); got != c.want {
			t.Errorf("%s: sentences(...) = \n%s\nwant\n%s", c.sentence, got, c.want)
		}
	}
}

// With fewer runs than an interval needs, something is shown but nothing is concluded; a longer tail is reported; and in an open loop the response decides.
func TestNothingIsConcludedFromNoise(t *testing.T) {
	type f = []float64
	of := func(v float64, runs int) figure {
		return figureOf(slices.Repeat([]float64{v}, runs), make([]float64, runs))
	}
	with := func(r row, offered, p50, p99 float64) row {
		r.offered, r.p50, r.p99 = offered, of(p50, r.grants.of), of(p99, r.grants.of)
		return r
	}
	six := f{100, 100, 100, 100, 100, 100}
	for _, c := range []struct {
		sentence string
		rows     []row
		want     string
	}{
		{"two runs are too few", []row{at("naive", 10, f{50, 50}, nil), at("predecessor", 10, f{100, 100}, nil)},
			"predecessor had 2.0 times the grants per second of naive at 10 contenders (seen in this run; no conclusion from 2 runs of each: fewer than 4 cannot tell a difference from chance)."},
		{"one run of equal ones too", []row{at("naive", 10, f{50}, nil), at("predecessor", 10, f{50}, nil)}, "(seen in this run; no conclusion from 1 run of each: "},
		{"the tail is longer", []row{with(at("naive", 10, f{50, 50}, nil), 0, 9, 20), with(at("predecessor", 10, f{100, 100}, nil), 0, 5, 40)},
			", but a longer p99 of the response, 40 against 20 ms (seen"},
		{"as much as was offered, and sooner", []row{with(at("naive", 10, six, nil), 100, 9, 20), with(at("predecessor", 10, six, nil), 100, 3, 15)},
			"predecessor is better than naive at 10 contenders: 3.0 times shorter response (3.0 to 3.0) " +
				"(6 runs of each, at most a 5 % chance of a wrong conclusion in 1 comparison: U test, Holm)."},
		{"more than the other, as late", []row{with(at("naive", 10, six, nil), 100, 9, 20), with(at("predecessor", 10, f{150, 150, 150, 150, 150, 150}, nil), 100, 9, 20)},
			"naive and predecessor are equivalent within 5 % at 10 contenders"},
	} {
		got := strings.Join(sentences(c.rows), "")
		if !strings.Contains(got, c.want) || (c.rows[0].grants.of >= 6) == strings.Contains(got, "no conclusion") {
			t.Errorf("%s: %q, want %q", c.sentence, got, c.want)
		}
	}
}

// A broken order is shown by two grants; only exclusion reports that both were held at once.
func TestEachCheckTellsItsOwnStory(t *testing.T) {
	grants := []results.WitnessSample{{Op: "acquire", Outcome: "ok", Session: 1, Token: 9, End: 10}, {Op: "acquire", Outcome: "ok", Session: 2, Token: 7, End: 15}}
	for name, overlap := range map[string]string{"mutual-exclusion": "Both held it for 5 ms.", "fifo": "", "token-order": ""} {
		text := strings.Join(violation("naive", results.Check{Name: name, Detail: "one before the other", Witness: grants, Overlap: overlap}), "\n")
		if held := strings.Contains(text, "Both held it"); held != (name == "mutual-exclusion") || !held && strings.Count(text, "acquire ok, token") != 2 {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {0.5, "0.5"}, {1.2344, "1.234"}, {12345.6, "12345.6"}, {300, "300"}} {
		if got := number(c.v); got != c.want {
			t.Errorf("number(%v) = %s, want %s", c.v, got, c.want)
		}
	}
}

// As many digits as are reproducible: three of a count, two of a rate and a median, one of the tail of one run; and never a p99 below the p50.
func TestDigitsThatHold(t *testing.T) {
	of := func(v float64, runs int) figure { return figure{known: true, value: v, of: runs} }
	for _, c := range []struct{ got, want string }{
		{of(2, 1).count(), "2.00"}, {of(1.0017, 1).count(), "1.00"}, {of(7279.4, 1).count(), "7280"}, {of(449.6, 1).count(), "450"}, {figure{}.count(), "-"},
		{of(116.3, 1).rate(), "120"}, {of(40.84, 1).rate(), "41"}, {of(2.417, 1).rate(), "2.4"}, {of(2, 1).rate(), "2.0"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	for _, c := range []struct {
		sentence string
		runs     int
		p50      float64
		above    []float64
		want     string
	}{
		{"one digit", 1, 72.1, []float64{377, 624}, "400 600"},
		{"two where the first is a 1 or a 2", 1, 72.1, []float64{177, 214}, "180 210"},
		{"a 2 that would become a 3", 1, 2548, []float64{2607, 2609}, "2600 2600"},
		{"one that would be below the p50 gets another digit", 1, 941, []float64{942, 944}, "940 940"},
		{"one that would be below the p99 gets another digit", 1, 100, []float64{296, 304}, "300 300"},
		{"of three runs two", 3, 72.1, []float64{377, 624}, "380 620"},
		{"small ones", 1, 0.02, []float64{0.0449, 0.167}, "0.04 0.17"},
	} {
		got := strings.Join(tails(of(c.p50, c.runs), of(c.above[0], c.runs), of(c.above[1], c.runs)), " ")
		if got != c.want {
			t.Errorf("%s: tails = %s, want %s", c.sentence, got, c.want)
		}
	}
}

func alike(values []float64) []float64 { return make([]float64, len(values)) }

// ofLock are the measures of a lock.
var ofLock = append(measured("acquire"), results.Measure{Op: "hand-off", Role: results.RolePart, Unit: "hand-offs", Owner: "holder"})

// measured returns operations that are counted and timed.
func measured(ops ...string) (all []results.Measure) {
	for _, op := range ops {
		m := results.Measure{Op: op, Role: results.RoleOperation, Timed: true}
		if strings.HasSuffix(op, "acquire") {
			m.Unit = "grants"
		}
		all = append(all, m)
	}
	return all
}
