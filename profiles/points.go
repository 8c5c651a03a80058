package profiles

import (
	"reflect"
	"slices"
)

// Points are the loads that a profile names: for every combination of the values of its axes one profile in which each of these lists
// has a single value. The first axis of the table turns slowest. Repetitions are not told apart. A rate per session is a rate in them.
func (p Profile) Points() []Profile {
	points := p.split(func(f Field) bool { return f.Axis })
	for i, q := range points {
		if len(q.RatePerSession) == 1 {
			points[i].Rate, points[i].RatePerSession = []float64{q.RatePerSession[0] * float64(q.Sessions[0])}, nil
		}
	}
	return points
}

// One is the profile with one value on each of its axes: the first, and of the sessions the largest number.
func (p Profile) One() Profile {
	one := p.split(func(f Field) bool { return f.Axis })[0]
	if len(p.Sessions) > 0 {
		one.Sessions = []int{slices.Max(p.Sessions)}
	}
	return one
}

// Environments are the profile for each ensemble that it takes: one profile for every combination of the values of such axes, in the order of the profile.
func (p Profile) Environments() []Profile {
	return p.split(func(f Field) bool { return f.Environment })
}

// Apart are the settings of one of the Environments of p in which they differ.
func (p Profile) Apart(one Profile) (all []Setting) {
	for _, f := range p.workload().table() {
		if f.Environment && f.get(p).Len() > 1 {
			all = append(all, Setting{f.Key, true, f.get(one).Index(0).Interface()})
		}
	}
	return all
}

// AtApart is where the first of the axes was given that have several ensembles; without one, where the ensemble was.
func (p Profile) AtApart() string {
	for _, f := range p.workload().table() {
		if f.Environment && f.get(p).Len() > 1 {
			return p.At(f.Key, 1)
		}
	}
	return p.At("ensemble", 0)
}

// split is p with one value on each of some axes, for every combination.
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
