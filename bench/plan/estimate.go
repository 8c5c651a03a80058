package plan

import (
	"fmt"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
)

// Estimate is how long a run takes, as far as its profile shows.
type Estimate struct {
	Cells int           // 0 if the profile plays scenarios, which have no cells
	Took  time.Duration // 0 if unknown, because the run ends when its work is done
	// Ensembles is how many ensembles the run uses, one after the other.
	Ensembles int
}

// What a cell takes in addition to its phases, measured on the built-in profiles: to connect, to be judged and to be cleaned up; and in a closed loop, for
// each session, the time of its first operation before the steady phase and of its last one after it.
const (
	cellOverhead    = 250 * time.Millisecond
	sessionOverhead = time.Millisecond
	firstOperation  = 10 * time.Millisecond // and the last one
	moveOverhead    = 8 * time.Second       // to end an ensemble and start the next
)

// Of returns how many cells a checked profile has and about how long they take, excluding the start of the first ensemble. A run of finite cells has no
// estimate: it ends when its work is done.
func Of(p profiles.Profile, finite bool) Estimate {
	e := Estimate{Ensembles: len(p.Environments())}
	e.Took = time.Duration(e.Ensembles-1) * moveOverhead
	for _, c := range Cells(p) {
		e.Cells++
		e.Took += c.Takes()
	}
	if finite {
		e.Took = 0
	}
	return e
}

// Takes returns about how long the cell lasts.
func (c Cell) Takes() time.Duration {
	d := c.Point.Warmup + c.Point.Duration + c.Point.Overtime + cellOverhead + time.Duration(c.Sessions)*sessionOverhead
	if first := time.Duration(c.Sessions) * firstOperation; !c.Open() {
		d += min(first, (WarmupFactor-1)*c.Point.Warmup) + min(first, c.Point.Drain)
	}
	return d
}

// WarmupFactor is how many times its length a closed loop's warm-up may last until every session has had its first operation.
const WarmupFactor = 10

// String returns text such as '9 cells, about 1 m 40 s'.
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

// Pace estimates how long the cells of a run take, corrected by how long the finished ones took.
type Pace struct {
	planned        []time.Duration
	expected, real time.Duration // of the finished cells
	done           int
}

// NewPace returns the pace of a run that has not begun.
func NewPace(cells []Cell) *Pace {
	p := &Pace{}
	for _, c := range cells {
		p.planned = append(p.planned, c.Takes())
	}
	return p
}

// Done records how long a cell took.
func (p *Pace) Done(cell int, d time.Duration) {
	p.expected, p.real, p.done = p.expected+p.planned[cell], p.real+d, p.done+1
}

// Rest returns about how long the cells after the given one take. It is negative if unknown: before the first cell that lasts until its work is done has
// ended.
func (p *Pace) Rest(cell int, untilDone bool) time.Duration {
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
