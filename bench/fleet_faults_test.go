package bench

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk/zktest"
)

// onlooker sees the servers of a three, but cannot break them.
type onlooker struct {
	*rig
	of *three
}

func (o onlooker) Servers() int                                     { return 3 }
func (o onlooker) Stats(ctx context.Context) []ensemble.ServerStats { return o.of.Stats(ctx) }

// breakable lets the first share inject faults. When a server is killed, all sessions lose their connections for a while.
func (f *ships) breakable() *three {
	th := &three{rig: f.all[0], leads: 2, down: map[int]bool{}, refuse: map[string]error{}}
	th.config.Ensemble = cutsOff{th}
	for _, r := range f.all[1:] {
		r.config.Ensemble = onlooker{r, th}
	}
	return th
}

type cutsOff struct{ *three }

func (c cutsOff) Kill(ctx context.Context, n int) error {
	all := c.ens.Sessions()
	for _, s := range all {
		c.ens.Disconnect(s)
	}
	time.AfterFunc(300*time.Millisecond, func() {
		for _, s := range all {
			c.ens.Reconnect(s)
		}
	})
	return c.three.Kill(ctx, n)
}

// Faults of servers have the same effects with several shares as with one process, and each share knows that they were planned.
func TestFaultsOfServersAcrossShares(t *testing.T) {
	profile := []string{"sessions: 9", "objects: 9", "session_timeout: 4s", "rate: 60", "hold: 2ms", "duration: 14s",
		faultsOf("{at: 4s, kind: kill, server: leader, for: 3s}", "{at: 9s, kind: restart, server: 1, for: 1s}")}
	var whole results.Cell
	for _, n := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			f := newShips(t, n, zktest.Config{OpLatency: time.Millisecond}, profile...)
			th := f.breakable()
			docs, errs := f.run()
			for i, doc := range docs {
				if errs[i] != nil || doc.Exit.Code != 0 {
					t.Fatalf("share %d of %d: %v, exit %+v", i+1, n, errs[i], doc)
				}
				if all := doc.Cells[0].Faults; len(all) != 2 || all[0].Unplanned || all[1].Unplanned || *all[0].SessionsCut != 9/n || all[0].Reconnecting == nil {
					t.Errorf("share %d of %d has the faults %+v, want the two that were planned, and what they did to its sessions", i+1, n, all)
				}
			}
			if len(th.calls) != 5 { // kill, restart, stop, restart, ready
				t.Errorf("%d shares did %q", n, th.calls)
			}
			f.all[0].clean()
			if n == 1 {
				whole = docs[0].Cells[0]
				return
			}
			doc, _, err := f.merge(f.dirs(), false)
			if err != nil {
				t.Fatal(err)
			}
			c := doc.Cells[0]
			if doc.Exit.Code != 0 || c.Due != whole.Due || len(c.Faults) != 2 {
				t.Fatalf("exit %+v, %d of %d that were due, faults %+v", doc.Exit, c.Due, whole.Due, c.Faults)
			}
			for _, k := range c.Checks {
				if k.Verdict != "holds" && !(k.Uncontended && c.Sessions <= c.Objects) { // one session per lock
					t.Errorf("%s is %s: %s", k.Name, k.Verdict, k.Detail)
				}
			}
			for i, got := range c.Faults {
				sameFault(t, got, whole.Faults[i])
			}
			if events := timelineFaults(t, &rig{config: Config{Out: th.config.Out}}); !slices.Equal(events, []string{"kill injected", "kill recovered", "restart injected", "restart recovered"}) {
				t.Errorf("the timeline tells %q", events)
			}
		})
	}
}

// sameFault compares a fault of a merged run with that of one process. Sessions have the same seeds in both, and connect at slightly different times.
func sameFault(t *testing.T, got, want results.Fault) {
	t.Helper()
	number := func(n *int) int {
		if n == nil {
			return -1
		}
		return *n
	}
	near := func(what string, got, want *float64, within float64) {
		if got == nil || want == nil {
			if got != want {
				t.Errorf("%s: %v, of one process %v", what, got, want)
			}
			return
		}
		if math.Abs(*got-*want) > within {
			t.Errorf("%s: %v, of one process %v", what, *got, *want)
		}
	}
	if got.Kind != want.Kind || got.Target != want.Target || got.Error != "" || number(got.SessionsCut) != number(want.SessionsCut) || number(got.LinksCut) != number(want.LinksCut) ||
		number(got.Handshakes) != number(want.Handshakes) || got.SessionsExpired != want.SessionsExpired || got.Orphans != want.Orphans || (got.Reconnecting == nil) != (want.Reconnecting == nil) {
		t.Errorf("%+v\nof one process: %+v", got, want)
	}
	near("the time", &got.AtS, &want.AtS, 0.1)
	near("the recovery", got.HealedS, want.HealedS, 0.1)
	near("the next grant", got.NextGrant, want.NextGrant, 100)
	near("half back", got.BackHalf, want.BackHalf, 100)
	near("all back", got.BackAll, want.BackAll, 100)
	near("the rate before", got.ThroughputBefore, want.ThroughputBefore, 3)
}

// If the share that injects is lost, the others attribute what happens to the servers to its faults.
func TestTheShareThatInjectsIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newShips(t, 3, zktest.Config{OpLatency: time.Millisecond}, "sessions: 6", "session_timeout: 4s", "rate: 30", "hold: 2ms", "duration: 30s",
			faultsOf("{at: 4s, kind: kill, server: leader}"))
		f.breakable()
		f.all[1].at(outcome.PhaseSteady, 8*time.Second, func() { f.kill(0) })
		docs, _ := f.run()
		for _, i := range []int{1, 2} {
			if doc := docs[i]; doc.Exit.Code != 5 || len(doc.Cells) != 1 || len(doc.Cells[0].Faults) != 0 {
				t.Errorf("share %d: exit %+v, cells %+v", i+1, doc.Exit, doc.Cells)
			}
		}
	})
}
