package profiles

import (
	"reflect"
	"slices"
)

// Points returns the loads that a profile names: one profile for every combination of the values of its axes, in which each axis has a single value. The
// first axis of the table varies slowest. Repetitions are not distinguished. A rate per session is converted to a rate.
func (p Profile) Points() []Profile {
	points := p.split(func(f Field) bool { return f.Axis })
	for i, q := range points {
		if len(q.RatePerSession) == 1 {
			points[i].Rate, points[i].RatePerSession = []float64{q.RatePerSession[0] * float64(q.Sessions[0])}, nil
		}
	}
	return points
}

// One returns the profile with one value on each of its axes: the first, or, for the sessions, the largest.
func (p Profile) One() Profile {
	one := p.split(func(f Field) bool { return f.Axis })[0]
	if len(p.Sessions) > 0 {
		one.Sessions = []int{slices.Max(p.Sessions)}
	}
	return one
}

// Environments returns one profile for each ensemble that p needs: one for every combination of the values of the environment axes, in the order of the
// profile.
func (p Profile) Environments() []Profile {
	return p.split(func(f Field) bool { return f.Environment })
}

// Differences returns the settings of one of the Environments of p that differ between them.
func (p Profile) Differences(one Profile) (all []Setting) {
	for _, f := range p.workload().table() {
		if f.Environment && f.get(p).Len() > 1 {
			all = append(all, Setting{f.Key, true, f.get(one).Index(0).Interface()})
		}
	}
	return all
}

// DifferingAxis returns where the first environment axis with several values was given; if there is none, where the ensemble was.
func (p Profile) DifferingAxis() string {
	for _, f := range p.workload().table() {
		if f.Environment && f.get(p).Len() > 1 {
			return p.At(f.Key, 1)
		}
	}
	return p.At("ensemble", 0)
}

// split returns p with a single value on each of some axes, for every combination.
func (p Profile) split(by func(Field) bool) []Profile {
	points := []Profile{p}
	for _, f := range p.workload().table() {
		if !by(f) {
			continue
		}
		var next []Profile
		for _, q := range points {
			values := f.get(q)
			if values.Len() == 0 {
				next = append(next, q)
			}
			for i := range values.Len() {
				one := q
				f.set(&one, reflect.Append(reflect.Zero(values.Type()), values.Index(i)))
				next = append(next, one)
			}
		}
		points = next
	}
	return points
}
