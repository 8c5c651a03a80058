package bench

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/zkbench/zkbench/profiles"
)

// spec is one cell of the matrix, not yet carried out.
type spec struct {
	variant     string
	sessions    int
	environment int              // place among the Environments of the profile
	rate        float64          // offered per second over all sessions; 0: closed loop
	repetition  int              // from 1
	point       profiles.Profile // the profile with one value on each of its axes
}

// plan is all cells of a profile, in an order mixed by its seed, so that a drift of the machine falls on all variants alike. A profile that plays
// scenarios has none.
func plan(p profiles.Profile) []spec {
	var cells []spec
	if len(p.Sessions) == 0 {
		return nil
	}
	for rep := range max(p.Repetitions, 1) {
		for environment, there := range p.Environments() {
			for _, point := range there.Points() {
				s := spec{variant: point.Variants[0], sessions: point.Sessions[0], environment: environment, repetition: rep + 1, point: point}
				if len(point.Rate) > 0 {
					s.rate = point.Rate[0]
				}
				cells = append(cells, s)
			}
		}
	}
	r := rand.New(rand.NewPCG(p.Seed, 0))
	r.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	slices.SortStableFunc(cells, func(a, b spec) int { // each ensemble is started once, and on it each prefill is made once
		return cmp.Or(cmp.Compare(a.environment, b.environment), cmp.Compare(a.prefill(), b.prefill()))
	})
	return cells
}
