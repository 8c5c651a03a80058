package plan

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/profiles"
)

func TestEstimate(t *testing.T) {
	point := profiles.Profile{Warmup: time.Second, Duration: 6 * time.Second, Drain: 5 * time.Second}
	open := Cell{Sessions: 1000, Rate: 100, Point: point}
	if got, want := open.Takes(), 7*time.Second+cellOverhead+time.Second; got != want {
		t.Errorf("an open loop takes %v, want %v", got, want)
	}
	closed := Cell{Sessions: 100, Point: point}
	if got, want := closed.Takes(), 7*time.Second+cellOverhead+100*time.Millisecond+2*time.Second; got != want {
		t.Errorf("a closed loop takes %v, want %v: each session has a turn before and after", got, want)
	}
	closed.Sessions = 100_000
	if got, most := closed.Takes(), 7*time.Second+cellOverhead+100*time.Second+9*time.Second+5*time.Second; got != most {
		t.Errorf("a crowded one takes %v, want %v: warm-up and drain have an end", got, most)
	}
	for e, want := range map[Estimate]string{{}: "played, until all is done", {Cells: 1}: "1 cell, until all is done",
		{Cells: 9, Took: 100 * time.Second}: "9 cells, about 1 m 40 s", {Cells: 9, Took: 100 * time.Second, Ensembles: 3}: "9 cells on 3 ensembles, about 1 m 40 s"} {
		if got := e.String(); got != want {
			t.Errorf("%+v is %q, want %q", e, got, want)
		}
	}
}

func TestPace(t *testing.T) {
	p := NewPace([]Cell{{Sessions: 1, Rate: 1, Point: profiles.Profile{Duration: 10 * time.Second}}, {Sessions: 1, Rate: 1, Point: profiles.Profile{Duration: 10 * time.Second}},
		{Sessions: 1, Rate: 1, Point: profiles.Profile{Duration: 10 * time.Second}}})
	one := p.planned[0]
	if got := p.Rest(0, false); got != 2*one {
		t.Errorf("before the first: %v left, want %v", got, 2*one)
	}
	if got := p.Rest(0, true); got >= 0 {
		t.Errorf("before the first that lasts until its work is done: %v left, want nobody to know", got)
	}
	p.Done(0, 2*one)
	if got := p.Rest(1, false); got != 2*one {
		t.Errorf("the first took twice as long as planned: %v left, want %v", got, 2*one)
	}
	if got := p.Rest(1, true); got != 2*one {
		t.Errorf("of those that last until their work is done %v are left, want %v", got, 2*one)
	}
}
