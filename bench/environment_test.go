package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// another is a rig with several ensembles, one after the other, each named as in the profile.
type another struct {
	*rig
	name string
}

func (m another) Describe() ensemble.Description {
	return ensemble.Description{Kind: m.name, Version: "3.9.0", Servers: int(m.name[len(m.name)-1] - '0')}
}

// Each ensemble of the axis runs for all its cells, alone and in the order of the profile, and nothing is left on any of them.
func TestEnsemblesOneAfterTheOther(t *testing.T) {
	for _, tc := range []struct {
		name      string
		interrupt int   // in this cell
		removed   bool  // an interrupt while the first root is removed
		foreign   bool  // a foreign znode below the first root
		next      error // of the start of the second ensemble
		cells     []string
		exit      int
	}{
		{name: "all", cells: []string{"local:5", "local:5", "local:5", "local:5", "local:3", "local:3", "local:3", "local:3"}},
		{name: "an interrupt in the first ends the run", interrupt: 2, cells: []string{"local:5", "local:5"}, exit: 130},
		{name: "an interrupt between both ends the run", removed: true, cells: []string{"local:5", "local:5", "local:5", "local:5"}, exit: 130},
		{name: "what is left in the first ends the run", foreign: true, cells: []string{"local:5", "local:5", "local:5", "local:5"}, exit: 1},
		{name: "the second cannot be started", next: errRefused, cells: []string{"local:5", "local:5", "local:5", "local:5"}, exit: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, zktest.Config{OpLatency: time.Millisecond}, "ensemble: [5, 3]", "prefill: [0, 10]", "repetitions: 2", "duration: 1s")
				r.config.Ensemble = another{r, "local:5"}
				r.config.Next = func(_ context.Context, p profiles.Profile) (ensemble.Ensemble, error) {
					r.clean()
					r.set(func() { r.ens = zktest.New(zktest.Config{OpLatency: time.Millisecond}) })
					return another{r, p.Ensemble[0]}, tc.next
				}
				r.on = func(u load.Update) {
					if u.Cell == tc.interrupt && u.Phase == outcome.PhaseSteady && !load.IsClosed(r.stop) {
						r.interrupt()
					}
					if tc.foreign && u.Cell == 1 && u.Connects != nil {
						s := r.ens.Dial()
						if _, err := s.Create(t.Context(), "/zkbench/test-1/foreign", nil, zk.Persistent); err != nil {
							t.Error(err)
						}
						s.Close()
					}
				}
				if tc.removed {
					r.onRequest(zk.KindDelete, "/zkbench-root", r.interrupt)
				}
				doc, err := r.run()
				if doc == nil || doc.Exit.Code != tc.exit || doc.Partial != (tc.exit != 0) || (err != nil) != (tc.exit != 0) || tc.next != nil && !errors.Is(err, tc.next) {
					t.Fatalf("Run = %v, exit %+v, partial %v", err, doc.Exit, doc.Partial)
				}
				if !tc.foreign {
					r.clean()
				}
				checkPlaces(t, doc, tc.cells)
			})
		})
	}
}

// checkPlaces asserts which ensemble each cell ran on.
func checkPlaces(t *testing.T, doc *results.Run, want []string) {
	t.Helper()
	var got, names []string
	for _, c := range doc.Cells {
		there := doc.Environments[c.Environment]
		if got = append(got, there.Ensemble); c.Parameters["ensemble"] != there.Ensemble {
			t.Errorf("cell %s says ensemble %v, and is of %s", c.Name, c.Parameters["ensemble"], there.Ensemble)
		}
		if names = append(names, c.Name); !strings.Contains(c.Name, strings.ReplaceAll(there.Ensemble, ":", "")) {
			t.Errorf("cell %s is of %s", c.Name, there.Ensemble)
		}
	}
	slices.Sort(names)
	if !slices.Equal(got, want) || len(slices.Compact(names)) != len(want) {
		t.Errorf("cells %v ran on %v, want %v", names, got, want)
	}
	if first := doc.Environments[0]; first.Ensemble != doc.Environment.Ensemble || first.Answered == nil || *first.Answered != *doc.Environment.Answered {
		t.Errorf("environment %+v is not the first of the environments, %+v", doc.Environment, first)
	}
	for _, p := range doc.Pools {
		if a, b := doc.Cells[p.Cells[0]], doc.Cells[p.Cells[1]]; a.Environment != b.Environment {
			t.Errorf("%s and %s are one pool", a.Name, b.Name)
		}
	}
}

// What cannot be done with several ensembles is reported before any load.
func TestSeveralEnsemblesRefused(t *testing.T) {
	given := newRig(t, zktest.Config{}, "ensemble: [3, given]").config
	played := newRig(t, zktest.Config{}, "ensemble: [3, 5]").config
	played.Acts = []Act{{Name: "lock", Variants: func() []string { return []string{"predecessor"} }}}
	alone := newRig(t, zktest.Config{}, "ensemble: [3, 5]").config
	for want, c := range map[string]Config{
		"test.yaml:4:15: ensemble: given cannot be one of several": given,
		"test.yaml:4:15: workload lock is played on one ensemble":  played,
		"test.yaml:4:15: several ensembles (expected one)":         alone,
	} {
		if doc, err := Run(t.Context(), c); doc != nil || !errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), want) {
			t.Errorf("Run = %v, %v, want %s", doc, err, want)
		}
	}
}
