package bench

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
)

// Times of a second without operations are null; intervals end at the marks; the timeline has nothing cumulative, and no copies.
func TestTheTimelineTellsIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "warmup: 1500ms", "duration: 4s", "sessions: 1", "think: 2500ms")
		cell := r.mustRun().Cells[0]
		var phases []string
		idle, reported, last := 0, map[string]float64{}, map[string]time.Time{}
		for _, s := range timeline(t, r) {
			if s.Client != nil {
				seconds, _ := s.Client.Get("seconds")
				if seconds <= 0 || seconds > 1.001 {
					t.Errorf("a line at %v is of %v seconds", s.At, seconds)
				}
				if rate, _ := s.Client.Get("per_s"); rate == 0 {
					idle++
					for _, name := range []string{"p50_ms", "p99_ms", "max_ms"} {
						if p, listed := s.Client[name]; !listed || p != nil {
							t.Errorf("%s of an idle second is %v (listed: %v), want null", name, p, listed)
						}
					}
				}
				if last[s.Phase].IsZero() {
					phases = append(phases, s.Phase)
				}
				last[s.Phase] = s.At
			}
			for address, f := range s.Servers {
				if address != "memory:1" || f == nil {
					t.Errorf("servers %v", s.Servers)
				}
				if packets, known := f.Get("packets_received"); known {
					reported[s.Phase] += packets
				}
			}
		}
		if idle == 0 || !slices.Equal(phases, []string{outcome.PhaseWarmup, outcome.PhaseSteady, outcome.PhaseDrain}) {
			t.Errorf("%d idle seconds, phases %v; want some idle ones, and warm-up, steady, drain", idle, phases)
		}
		const slack = 100 * time.Millisecond
		for phase, ends := range map[string]time.Duration{outcome.PhaseWarmup: 1500 * time.Millisecond, outcome.PhaseSteady: 5500 * time.Millisecond} {
			if at := last[phase].Sub(cell.Started); at < ends || at > ends+slack {
				t.Errorf("the last line of the phase %s ends at %v, want %v", phase, at, ends)
			}
		}
		for name, want := range map[string]float64{"packets_received": reported[outcome.PhaseSteady], "seconds": 4} {
			if got, known := cell.Server.Get(name); !known || math.Abs(got-want) > 1e-9 {
				t.Errorf("%s is %v (known: %v), want %v", name, got, known, want)
			}
		}
	})
}

func timeline(t *testing.T, r *rig) []results.Second {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.config.Out.Path(), results.TimelineFile))
	if err != nil {
		t.Fatal(err)
	}
	all, err := results.ReadTimeline(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// The number of servers of a run: those that answered, those that were given, and those that the ensemble has.
func TestRollCall(t *testing.T) {
	follower := func(n int) ensemble.ServerStats {
		return ensemble.ServerStats{Address: string(rune('a' + n)), Stats: ensemble.Stats{State: "follower", QuorumSize: 3}}
	}
	off := ensemble.ServerStats{Address: "x", Err: ensemble.ErrWordsOff}
	down := ensemble.ServerStats{Address: "y", Err: errors.New("refused")}
	for _, c := range []struct {
		sentence         string
		all              []ensemble.ServerStats
		answered, voting int
	}{
		{"one address of three", []ensemble.ServerStats{follower(0)}, 1, 3},
		{"one of three never answers", []ensemble.ServerStats{follower(0), follower(1), down}, 2, 3},
		{"a server that tells no figures answers", []ensemble.ServerStats{off}, 1, 0},
		{"a server alone", []ensemble.ServerStats{{Address: "s", Stats: ensemble.Stats{State: "standalone"}}}, 1, 1},
	} {
		var r rollCall
		r.call(c.all)
		var e results.Environment
		if r.tell(&e); *e.Answered != c.answered || (e.Voting == nil) != (c.voting == 0) || e.Voting != nil && *e.Voting != c.voting {
			t.Errorf("%s: answered %d, voting %v; want %d, %d", c.sentence, *e.Answered, e.Voting, c.answered, c.voting)
		}
	}
}
