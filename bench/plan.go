package bench

import (
	"math/rand/v2"

	"github.com/zkbench/zkbench/profiles"
)

// spec is one cell of the matrix, not yet carried out.
type spec struct {
	variant    string
	sessions   int
	rate       float64          // offered per second over all sessions; 0: closed loop
	repetition int              // from 1
	point      profiles.Profile // the profile with one value on each of its axes
}

// plan is all cells of a profile, in an order mixed by its seed, so that a drift of the machine falls on all variants alike.
func plan(p profiles.Profile) []spec {
	var cells []spec
	for rep := range max(p.Repetitions, 1) {
		for _, point := range p.Points() {
			s := spec{variant: point.Variants[0], sessions: point.Sessions[0], repetition: rep + 1, point: point}
			if len(point.Rate) > 0 {
				s.rate = point.Rate[0]
			}
			cells = append(cells, s)
		}
	}
	r := rand.New(rand.NewPCG(p.Seed, 0))
	r.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	return cells
}
