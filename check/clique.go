package check

import (
	"cmp"
	"slices"
)

// likelihood says how certain it is that holds clash. Each corresponds to a timing.
type likelihood timing

const (
	never     = likelihood(notAtOnce)
	perhaps   = likelihood(untold)
	certainly = likelihood(atOnce)
)

// clash says how likely two holds of one object clash, each of which may start before the other ends.
func (f *clashed) clash(a, b *known) likelihood {
	aFrom, aTo, aSure := a.sure()
	bFrom, bTo, bSure := b.sure()
	if aSure && bSure && aFrom < bTo && bFrom < aTo {
		return certainly
	}
	return likelihood(f.meeting(a, b))
}

// clique finds need holds, among those that exclude k, that all clash with k and with each other: certainly, or else perhaps. If the search takes too many
// steps, the result is perhaps too.
func (f *clashed) clique(k *known, held []known, need int) (with []known, how likelihood) {
	with, some := f.clashing(k, held, need, certainly)
	if len(with) == need {
		return with, certainly
	}
	if !some {
		_, some = f.clashing(k, held, need, perhaps)
	}
	if some {
		return nil, perhaps
	}
	return nil, never
}

// clashing is clique for clashes of at least the given likelihood. some says that there is a clique, or that the search ran out of steps.
func (f *clashed) clashing(k *known, held []known, need int, least likelihood) (with []known, some bool) {
	held = slices.DeleteFunc(slices.Clone(held), func(h known) bool { return f.clash(k, &h) < least })
	if len(held) < need {
		return nil, false
	}
	if need == 1 {
		return []known{slices.MaxFunc(held, func(a, b known) int { return cmp.Compare(f.meeting(k, &a), f.meeting(k, &b)) })}, true
	}
	to := make([][]bool, len(held))
	for i := range held {
		to[i] = make([]bool, len(held))
		for j := range i {
			to[i][j] = f.clash(&held[i], &held[j]) >= least
			to[j][i] = to[i][j]
		}
	}
	steps := 1 << 16
	var chosen []int
	var choose func(from []int) bool
	choose = func(from []int) bool {
		if len(chosen) == need {
			return true
		}
		for n := 0; len(chosen)+len(from)-n >= need && steps > 0; n++ {
			steps--
			var left []int
			for _, j := range from[n+1:] {
				if to[from[n]][j] {
					left = append(left, j)
				}
			}
			chosen = append(chosen, from[n])
			if choose(left) {
				return true
			}
			chosen = chosen[:len(chosen)-1]
		}
		return false
	}
	every := make([]int, len(held))
	for i := range every {
		every[i] = i
	}
	if !choose(every) {
		return nil, steps == 0
	}
	for _, i := range chosen {
		with = append(with, held[i])
	}
	return with, true
}
