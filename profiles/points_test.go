package profiles

import (
	"fmt"
	"slices"
	"testing"
)

// A rate per session becomes a rate in each point, and is unchanged in the profile.
func TestRatePerSession(t *testing.T) {
	p := mustParse(t, "workload: lock\nvariants: a\nsessions: [10, 200]\nrate_per_session: [0.5/s, 2/s]\narrivals: uniform\n")
	var got []float64
	for _, q := range p.Points() {
		got = append(got, q.Rate...)
		if len(q.RatePerSession) != 0 || q.Arrivals != "uniform" {
			t.Errorf("a point has rate_per_session %v, arrivals %s", q.RatePerSession, q.Arrivals)
		}
	}
	if !slices.Equal(got, []float64{5, 20, 100, 400}) || len(p.Rate) > 0 || len(p.RatePerSession) != 2 {
		t.Errorf("rates %v, want 5, 20, 100 and 400; the profile has %v and %v", got, p.Rate, p.RatePerSession)
	}
}

func TestPoints(t *testing.T) {
	p := mustParse(t, "workload: read-write\nvariants: [a, b]\nsessions: [1, 2]\nreaders: [0, 50]\nrepetitions: 3\n")
	var got []string
	for _, q := range p.Points() {
		got = append(got, fmt.Sprint(q.Variants, q.Sessions, q.Values().Int(testReaders), q.Rate, q.Repetitions, q.Own()[1]))
	}
	want := []string{
		"[a] [1] 0 [] 3 {readers true 0}", "[a] [1] 50 [] 3 {readers true 50}", "[a] [2] 0 [] 3 {readers true 0}", "[a] [2] 50 [] 3 {readers true 50}",
		"[b] [1] 0 [] 3 {readers true 0}", "[b] [1] 50 [] 3 {readers true 50}", "[b] [2] 0 [] 3 {readers true 0}", "[b] [2] 50 [] 3 {readers true 50}",
	}
	if !slices.Equal(got, want) {
		t.Errorf("points are\n%q, want\n%q", got, want)
	}
	if !slices.Equal(p.Sessions, []int{1, 2}) {
		t.Error("Points changed the profile itself")
	}
	if q := p.Points()[0]; !slices.Equal(p.Ints(testReaders), []int{0, 50}) || q.Values().Int(testObjects) != 1 {
		t.Error("Points changed the values of the profile itself, or lost a default")
	}
}
