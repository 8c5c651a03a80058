package bench

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
)

// Estimate is how long a run of a profile takes, as far as its profile tells.
type Estimate struct {
	Cells int           // 0: it is played once, and has none
	Took  time.Duration // 0: nobody knows, because it ends when its work is done
	// Ensembles is how many the run has, one after the other.
	Ensembles int
}

// What a cell takes beside its phases, measured on the built-in profiles: to connect, to be judged and to be cleaned up; and in a closed loop,
// for each session, to have its first operation before the steady phase, and its last one after it.
const (
	cellOverhead    = 250 * time.Millisecond
	sessionOverhead = time.Millisecond
	firstOperation  = 10 * time.Millisecond // or the last one
	moveOverhead    = 8 * time.Second       // to end an ensemble and start the next
)

// Estimate is how many cells a checked profile has and about how long they take, the start of the first ensemble not included.
func (b Setup) Estimate(p profiles.Profile) Estimate {
	kind, known := b.workload(p.Workload)
	if !known {
		return Estimate{}
	}
	e := Estimate{Ensembles: len(p.Environments())}
	e.Took = time.Duration(e.Ensembles-1) * moveOverhead
	for _, s := range plan(p) {
		e.Cells++
		e.Took += cellTook(s)
	}
	if kind.Shape == profiles.Finite {
		e.Took = 0
	}
	return e
}

// cellTook is about how long a cell lasts.
func cellTook(s spec) time.Duration {
	took := s.point.Warmup + s.point.Duration + s.point.Overtime + cellOverhead + time.Duration(s.sessions)*sessionOverhead
	if first := time.Duration(s.sessions) * firstOperation; s.rate == 0 {
		took += min(first, (warmupPatience-1)*s.point.Warmup) + min(first, s.point.Drain)
	}
	return took
}

// String is such as '9 cells, about 1 m 40 s'.
func (e Estimate) String() string {
	cells := phrase.Count(e.Cells, "cell")
	if e.Ensembles > 1 {
		cells += " on " + phrase.Count(e.Ensembles, "ensemble")
	}
	switch {
	case e.Cells == 0:
		return "played, until all is done"
	case e.Took == 0:
		return cells + ", until all is done"
	}
	return fmt.Sprintf("%s, about %s", cells, phrase.Rough(e.Took))
}

// pace is how long the cells of a run take, corrected by how long those took that are done.
type pace struct {
	planned        []time.Duration
	expected, real time.Duration // of those that are done
	done           int
}

func newPace(cells []spec) *pace {
	p := &pace{}
	for _, s := range cells {
		p.planned = append(p.planned, cellTook(s))
	}
	return p
}

// took notes how long a cell took.
func (p *pace) took(cell int, d time.Duration) {
	p.expected, p.real, p.done = p.expected+p.planned[cell], p.real+d, p.done+1
}

// rest is about how long the cells after one take; negative where nobody knows: before the first end of a cell that lasts until its work is done.
func (p *pace) rest(cell int, untilDone bool) time.Duration {
	later := p.planned[cell+1:]
	if untilDone {
		if p.done == 0 {
			return -1
		}
		return p.real / time.Duration(p.done) * time.Duration(len(later))
	}
	var sum time.Duration
	for _, d := range later {
		sum += d
	}
	if p.expected > 0 {
		sum = time.Duration(float64(sum) * float64(p.real) / float64(p.expected))
	}
	return sum
}
