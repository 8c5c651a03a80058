package check

import (
	"cmp"
	"slices"
)

// likelihood says whether holds clash; each timing has one.
type likelihood timing

const (
	never     = likelihood(notAtOnce)
	perhaps   = likelihood(untold)
	certainly = likelihood(atOnce)
)

// clash says whether two holds of one object clash, of which each may begin before the other ends.
func (f *clashed) clash(a, b *known) likelihood {
	aFrom, aTo, aSure := a.sure()
	bFrom, bTo, bSure := b.sure()
	if aSure && bSure && aFrom < bTo && bFrom < aTo {
		return certainly
	}
	return likelihood(f.meeting(a, b))
}

// clique finds so many holds, of those that exclude k, that each clashes with k and with each other: certainly, or else perhaps. Looking for it may take
// too many steps, which is perhaps too.
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

// clashing is clique for what clashes so likely at least; some: there is one, or too many steps did not tell.
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
