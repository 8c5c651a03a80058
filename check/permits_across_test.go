package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/metrics"
)

// A hold that ended long before says nothing about the others. Holds that each clash with one other, but not all with each other, were not all held at once.
func TestPermitsAcrossHosts(t *testing.T) {
	lost := func(h history) history {
		h = slices.Clone(h)
		h[1] = zxid(0, with(metrics.Lost, h[1]))
		return h
	}
	event := func(token int64, h history) history { // granted by an event without a zxid
		h = slices.Clone(h)
		h[0].Token, h[0].Zxid = token, 0
		return h
	}
	a, b, d := lost(grant('a', 10, 20, 100, 0)), grant('b', 5008, 5030, 105, 131), grant('d', 5010, 5020, 110, 130)
	stale := lost(grant('c', 2, 5, 90, 0))
	first := history{placed('x', 11, 12, 112), placed('w', 13, 19, 117), placed('x', 21, 22, 118)}
	second := history{placed('y', 5000, 5002, 115), placed('z', 5011, 5012, 116)}
	for _, test := range []struct {
		name        string
		first, next history
		answer      Answer
		say         string
	}{
		{"two at once and a third", slices.Concat(a, first), slices.Concat(second, b, d), Violated, "both held at once"},
		{"the same beside one that was lost before", slices.Concat(stale, a, first), slices.Concat(second, b, d), Violated, "both held at once"},
		{"one that was lost before, and two", slices.Concat(stale, first), slices.Concat(second, b, d), Holds, ""},
		{"two of one host, the second at the instant of the first's release, and a third", slices.Concat(grant('a', 10, 20, 100, 140), grant('c', 20, 25, 135, 150),
			history{placed('x', 11, 12, 112), placed('w', 13, 19, 117), placed('x', 21, 22, 138)}), slices.Concat(history{placed('y', 5000, 5002, 115)}, grant('b', 5010, 5020, 110, 145)), Violated, "by luck not held at once"},
		{"two that each clash with a third, but perhaps not with each other", grant('h', 10, 20, 90, 110), slices.Concat(grant('k', 5010, 5090, 100, 200),
			event(95, grant('i', 5050, 5060, 0, 160)), history{placed('y', 5061, 5062, 141)}), Unknown, "1 of 3 grants may have been given"},
	} {
		v, _ := Permits(2).JudgeAcross(hostsOf(test.first, test.next), nil)
		if v.Answer != test.answer || !strings.Contains(v.Detail, test.say) {
			t.Errorf("%s: %v, %d times (%s), want %v (%q)", test.name, v.Answer, v.Count, v.Detail, test.answer, test.say)
		}
	}
}
