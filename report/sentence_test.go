package report

import (
	"testing"

	"github.com/zkbench/zkbench/results"
)

// at is a row with these grants per second and hand-offs, one of each for a repetition.
func at(variant string, sessions int, grants, handOff []float64) row {
	r := row{workload: "lock", variant: variant, loop: "closed", sessions: sessions, objects: 1, grants: figureOf(grants...), handOff: figureOf(handOff...)}
	for _, g := range grants {
		r.cells = append(r.cells, results.Cell{Operations: int64(1000 * g)})
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
	r.errors = errors
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

func TestSentences(t *testing.T) {
	type f = []float64
	const once = " With one repetition the spread is not known: a difference below 10 % counts as none."
	for _, c := range []struct {
		sentence string
		rows     []row
		want     string
	}{
		{"one variant has nobody to beat", []row{at("naive", 10, f{70}, f{3})}, ""},
		{"it wins at 100 and at all larger ones, not at 10",
			[]row{at("naive", 10, f{77, 78}, f{2.8, 3}), at("predecessor", 10, f{77.5, 79}, f{2.9, 3}),
				at("naive", 100, f{50, 55}, f{8, 9}), at("predecessor", 100, f{70, 75}, f{2.9, 3}),
				at("naive", 300, f{20, 21}, f{14, 15}), at("predecessor", 300, f{64, 67.2}, f{2.8, 2.9})},
			"predecessor beats naive from 100 contenders on: 3.2 times the grants per second and a 5.1 times shorter hand-off at 300."},
		{"a win at 10 does not count, since there is none at 100",
			[]row{at("naive", 10, f{50, 50}, nil), at("predecessor", 10, f{70, 70}, nil),
				at("naive", 100, f{50, 60}, nil), at("predecessor", 100, f{55, 65}, nil),
				at("naive", 300, f{30, 30}, nil), at("predecessor", 300, f{60, 60}, nil)},
			"predecessor beats naive from 300 contenders on: 2.0 times the grants per second at 300."},
		{"ranges that meet are no difference",
			[]row{at("naive", 10, f{60, 70, 80}, f{3, 4}), at("predecessor", 10, f{78, 90, 99}, f{2, 3})},
			"predecessor and naive: no difference beyond the spread at 10 contenders."},
		{"without repetitions five per cent are none",
			[]row{at("naive", 10, f{100}, f{3}), at("predecessor", 10, f{105}, f{3})},
			"predecessor and naive: no difference beyond the spread at 10 contenders." + once},
		{"without repetitions a half more is one",
			[]row{at("naive", 10, f{100}, f{3}), at("predecessor", 10, f{150}, f{3})},
			"predecessor beats naive from 10 contenders on: 1.5 times the grants per second and the same hand-off within the spread at 10." + once},
		{"the shorter hand-off alone wins too",
			[]row{at("naive", 10, f{100, 101}, f{6, 6}), at("predecessor", 10, f{100, 101}, f{3, 3})},
			"predecessor beats naive from 10 contenders on: the same grants per second within the spread and a 2.0 times shorter hand-off at 10."},
		{"more grants and a longer hand-off is no win",
			[]row{at("naive", 10, f{100, 101}, f{3, 3}), at("predecessor", 10, f{200, 201}, f{6, 6})},
			"neither predecessor nor naive wins at 10 contenders: one has more grants per second, the other the shorter hand-off."},
		{"who violates safety is compared with nobody, however fast",
			[]row{violated(at("broken", 10, f{900, 900}, f{1, 1})), at("naive", 10, f{50, 50}, f{6, 6}), at("predecessor", 10, f{100, 100}, f{3, 3})},
			"predecessor beats naive from 10 contenders on: 2.0 times the grants per second and a 2.0 times shorter hand-off at 10; " +
				"broken is not comparable: it violated mutual-exclusion at 10 contenders."},
		{"a published fault that did not show is told all the same",
			[]row{unsafe(at("index", 10, f{100, 100}, f{3, 3})), at("lease", 10, f{50, 50}, f{6, 6})},
			"index beats lease from 10 contenders on: 2.0 times the grants per second and a 2.0 times shorter hand-off at 10. " +
				"index is kept as it was published, with faults that are known: it is no choice, whatever its speed."},
		{"nobody is left when the other violates",
			[]row{violated(at("broken", 10, f{900}, f{1})), at("naive", 10, f{50}, f{6})},
			"broken is not comparable: it violated mutual-exclusion at 10 contenders."},
		{"who was granted nothing", []row{at("naive", 10, f{0}, nil), at("predecessor", 10, f{50}, nil)},
			"naive is not comparable: it was granted nothing at 10 contenders."},
		{"who was cut short", []row{partial(at("naive", 10, f{50}, nil)), at("predecessor", 10, f{50}, nil)},
			"naive is not comparable: it was cut short at 10 contenders."},
		{"different shares of errors come before any number",
			[]row{failing(at("naive", 10, f{50, 50}, f{6, 6}), 10_000), at("predecessor", 10, f{100, 100}, f{3, 3})},
			"predecessor and naive are not comparable at 10 contenders: 0.0 % of the operations of predecessor failed and 9.1 % of those of naive."},
		{"errors in like shares do not matter",
			[]row{failing(at("naive", 10, f{50, 50}, f{6, 6}), 1000), failing(at("predecessor", 10, f{100, 100}, f{3, 3}), 2000)},
			"predecessor beats naive from 10 contenders on: 2.0 times the grants per second and a 2.0 times shorter hand-off at 10."},
		{"a saturated generator bounds what the factor says",
			[]row{saturated(at("naive", 10, f{50, 50}, f{6, 6})), at("predecessor", 10, f{100, 100}, f{3, 3})},
			"predecessor beats naive from 10 contenders on: 2.0 times the grants per second and a 2.0 times shorter hand-off at 10 " +
				"(where zkbench itself was the bottleneck, so the factor is not of the servers)."},
		{"three variants, one sentence",
			[]row{at("naive", 100, f{50, 50}, f{6, 6}), at("predecessor", 100, f{100, 100}, f{3, 3}), at("single-node", 100, f{99, 101}, f{3, 3})},
			"predecessor beats naive from 100 contenders on: 2.0 times the grants per second and a 2.0 times shorter hand-off at 100; " +
				"predecessor and single-node: no difference beyond the spread at 100 contenders."},
		{"no number of contenders in common", []row{at("naive", 10, f{50, 50}, nil), at("predecessor", 100, f{50, 50}, nil)},
			"naive and predecessor were not measured with the same number of contenders."},
	} {
		got := ""
		for _, s := range sentences(c.rows) {
			got += s
		}
		if got != c.want {
			t.Errorf("%s: sentences(...) = \n%s\nwant\n%s", c.sentence, got, c.want)
		}
	}
}

func TestOverlap(t *testing.T) {
	acquire := func(session uint32, end float64) results.WitnessSample {
		return results.WitnessSample{Op: "acquire", Outcome: "ok", Session: session, Object: 4, End: end}
	}
	release := func(session uint32, start float64) results.WitnessSample {
		return results.WitnessSample{Op: "release", Outcome: "ok", Session: session, Object: 4, Start: start}
	}
	for _, c := range []struct {
		sentence string
		witness  []results.WitnessSample
		want     string
	}{
		{"nothing shows nothing", nil, ""},
		{"one holder is no overlap", []results.WitnessSample{acquire(1, 10), release(1, 20)}, ""},
		{"one after the other is no overlap", []results.WitnessSample{acquire(1, 10), release(1, 20), acquire(2, 20), release(2, 30)}, ""},
		{"the second begins before the first ends", []results.WitnessSample{acquire(1, 10), acquire(2, 15), release(1, 20), release(2, 30)},
			"session 1 held from 10.000 ms and released it at 20.000 ms; session 2 held from 15.000 ms and released it at 30.000 ms, " +
				"while the first still held object 4. Both held it for 5.000 ms."},
		{"neither was seen to release", []results.WitnessSample{acquire(2, 15), acquire(1, 10)},
			"session 1 held from 10.000 ms and was not seen to release it; session 2 held from 15.000 ms and was not seen to release it, " +
				"while the first still held object 4. Both held it from then on."},
		{"a failed acquire holds nothing", []results.WitnessSample{acquire(1, 10), {Op: "acquire", Outcome: "timeout", Session: 2, End: 15}}, ""},
	} {
		if got := overlap(c.witness); got != c.want {
			t.Errorf("%s: overlap(...) = %q, want %q", c.sentence, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {0.0123, "0.012"}, {0.5, "0.50"}, {1.234, "1.23"}, {9.996, "10.0"}, {12.34, "12.3"}, {99.96, "100"}, {123.4, "123"}, {12345.6, "12346"}, {300, "300"}} {
		if got := number(c.v); got != c.want {
			t.Errorf("number(%v) = %s, want %s", c.v, got, c.want)
		}
	}
}
