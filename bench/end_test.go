package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// onRequest calls do once, when a request of a kind whose path ends with text reaches the servers, alone or in a transaction.
func (r *rig) onRequest(kind zk.Kind, text string, do func()) {
	done := false
	r.ens.Hook(func(op zktest.Op) zktest.Action {
		r.mu.Lock()
		now := !done && !op.Applied && (op.Kind == kind && strings.HasSuffix(op.Path, text) ||
			slices.ContainsFunc(op.Ops, func(o zk.Op) bool { return o.Kind == kind && strings.HasSuffix(o.Path, text) }))
		done = done || now
		r.mu.Unlock()
		if now {
			do()
		}
		return zktest.Action{}
	})
}

// onSession calls do when the first session of a seat has been opened.
func (r *rig) onSession(seat int, do func()) {
	var once sync.Once
	r.opened = func(opened int, _ *zktest.Session) {
		if opened == seat {
			once.Do(do)
		}
	}
}

// The phases of a run, and how a test gets into them. The load would run for an hour.
var long = []string{"variants: [predecessor, naive]", "sessions: [8]", "duration: 1h", "drain: 1h", "session_timeout: 4s"}

var phases = []struct {
	name  string
	lines []string // instead of long
	cells int      // in the document
	enter func(r *rig, do func())
}{
	{name: "the making of the root", enter: func(r *rig, do func()) { r.onRequest(zk.KindCreate, "/zkbench/test-1", do) }},
	{name: "the set-up", enter: func(r *rig, do func()) { r.onRequest(zk.KindCreate, "/cell-1/lock-0", do) }},
	{name: "the connecting", enter: func(r *rig, do func()) { r.onSession(3, do) }},
	{name: "the warm-up", cells: 1, lines: []string{"warmup: 1m", "sessions: [8]", "session_timeout: 4s"},
		enter: func(r *rig, do func()) { r.at(outcome.PhaseWarmup, 4*time.Second, do) }},
	{name: "the wait for every first turn", cells: 1, lines: []string{"hold: 2m", "warmup: 3m", "sessions: [8]", "session_timeout: 4s"},
		enter: func(r *rig, do func()) { r.at(outcome.PhaseWarmup, 5*time.Minute, do) }},
	{name: "the steady phase", cells: 1, enter: func(r *rig, do func()) { r.at(outcome.PhaseSteady, 4*time.Second, do) }},
	{name: "the steady phase of an open loop", cells: 1,
		lines: []string{"rate: 100/s", "sessions: [8]", "locks: 8", "duration: 1h", "session_timeout: 4s"},
		enter: func(r *rig, do func()) { r.at(outcome.PhaseSteady, 4*time.Second, do) }},
	{name: "the drain", cells: 1, lines: []string{"hold: {uniform: [20m, 21m]}", "rate: 1/s", "sessions: [8]", "duration: 10s", "drain: 1h", "session_timeout: 4s", "variants: [predecessor, naive]"},
		enter: func(r *rig, do func()) { r.at(outcome.PhaseDrain, 20*time.Second, do) }},
	{name: "the judging", cells: 1, lines: []string{"variants: [predecessor, naive]", "session_timeout: 4s"},
		enter: func(r *rig, do func()) { r.at(outcome.PhaseJudge, 0, do) }},
	{name: "the clearing", cells: 1, lines: []string{"variants: [predecessor, naive]", "session_timeout: 4s"},
		enter: func(r *rig, do func()) { r.onRequest(zk.KindDelete, "/cell-1", do) }},
}

// Overloaded servers answer the end of a session too late for its Close, and its znode goes when they expire the session: then nothing is left,
// although no lost session is known.
func TestZnodesOfSessionsThatEndLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "session_timeout: 4s")
		r.at(outcome.PhaseJudge, 0, func() {
			s := r.ens.DialTimeout(4 * time.Second)
			if _, err := s.Create(context.Background(), "/zkbench/test-1/cell-1/lock-0/_c_0123456789abcdef0123456789abcdef-lock-", nil, zk.EphemeralSequential); err != nil {
				t.Error(err)
			}
			r.ens.Disconnect(s)
		})
		doc, err := r.run()
		if err != nil {
			t.Fatal(err)
		}
		if got := checkOf(t, doc.Cells[0], "nothing-left"); got.Verdict != "holds" {
			t.Errorf("nothing-left is %s: %s", got.Verdict, got.Detail)
		}
		r.clean()
	})
}

// While the root is being removed everything has been measured: the result is complete, and says that the run was interrupted.
func TestInterruptOfTheLastRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "session_timeout: 4s")
		interrupted := false
		r.onRequest(zk.KindDelete, "/cell-1", func() { interrupted = true; r.interrupt() })
		doc, err := r.run()
		if err != nil || !interrupted || doc.Partial || len(doc.Cells) != 1 || doc.Exit.Code != 130 || doc.Exit.Reason != "interrupted" {
			t.Errorf("error %v, interrupted %v, document %+v; want a whole one that ends with 130", err, interrupted, doc)
		}
		r.clean()
	})
}

func TestInterruptInEachPhase(t *testing.T) {
	for _, p := range phases {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lines := p.lines
				if lines == nil {
					lines = long
				}
				r := newRig(t, latency, lines...)
				var at time.Time
				p.enter(r, func() { at = time.Now(); r.interrupt() })
				doc, err := r.run()
				if at.IsZero() {
					t.Fatal("the run did not come into the phase")
				}
				if took := time.Since(at); took > 10*time.Second {
					t.Errorf("it took %v to end", took)
				}
				if !Interrupted(err) || doc == nil {
					t.Fatalf("error %v, document %v", err, doc)
				}
				if doc.Exit.Code != 130 || doc.Exit.Reason != "interrupted" || !doc.Partial || len(doc.Cells) != p.cells {
					// If nothing was granted by then, there is no evidence either.
					if doc.Exit.Code != 130 || !strings.HasPrefix(doc.Exit.Reason, "interrupted; no evidence") {
						t.Errorf("exit %+v, partial %v, %d cells; want 130, partial and %d cells", doc.Exit, doc.Partial, len(doc.Cells), p.cells)
					}
				}
				for _, c := range doc.Cells {
					if got := checkOf(t, c, "mutual-exclusion").Verdict; got == "violated" {
						t.Errorf("mutual exclusion is %s", got)
					}
					if got := checkOf(t, c, "nothing-left"); got.Verdict != "holds" {
						t.Errorf("nothing-left is %s: %s", got.Verdict, got.Detail)
					}
					if strings.Contains(strings.Join(c.Notes, " "), "saturated") {
						t.Errorf("notes of an interrupted cell: %q", c.Notes)
					}
				}
				r.clean()
			})
		})
	}
}

// The steady phase of an interrupted cell has its actual length, and its rate is for that time.
func TestInterruptedCellMeasuresWhatThereWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, long...)
		r.at(outcome.PhaseSteady, 6*time.Second, r.interrupt)
		doc, _ := r.run()
		c := doc.Cells[0]
		if !c.Partial || c.ElapsedS < 4.5 || c.ElapsedS > 5.5 || c.Operations == 0 || !near(c.Throughput, float64(c.Operations)/c.ElapsedS) {
			t.Errorf("partial %v, %v s, %d operations, %v/s", c.Partial, c.ElapsedS, c.Operations, c.Throughput)
		}
	})
	synctest.Test(t, func(t *testing.T) { // before it started
		r := newRig(t, latency, phases[4].lines...)
		r.at(outcome.PhaseWarmup, 5*time.Minute, r.interrupt)
		doc, _ := r.run()
		if c := doc.Cells[0]; c.ElapsedS != 0 || c.Operations != 0 || c.Throughput != 0 {
			t.Errorf("%v s, %d operations, %v/s of a steady phase that has not begun", c.ElapsedS, c.Operations, c.Throughput)
		}
	})
}

func TestEnsembleLostInEachPhase(t *testing.T) {
	gone := errors.New("server 1 ended by itself")
	for how, lose := range map[string]func(r *rig){
		"the servers no longer answer": (*rig).silence,
		"a server ended by itself":     func(r *rig) { r.set(func() { r.ended = gone }) },
	} {
		for _, p := range phases {
			t.Run(how+" in "+p.name, func(t *testing.T) {
				if how != "the servers no longer answer" && p.name == "the making of the root" {
					return // in this case the start of the ensemble failed, not the run
				}
				synctest.Test(t, func(t *testing.T) {
					lines := p.lines
					if lines == nil {
						lines = long
					}
					r := newRig(t, latency, lines...)
					var at time.Time
					p.enter(r, func() { at = time.Now(); lose(r) })
					doc, err := r.run()
					if at.IsZero() {
						t.Fatal("the run did not come into the phase")
					}
					if took := time.Since(at); took > 90*time.Second {
						t.Errorf("it took %v to end", took)
					}
					if err == nil || doc == nil {
						t.Fatalf("error %v, document %v", err, doc)
					}
					if doc.Exit.Code != 1 || doc.Exit.Reason == "" || !doc.Partial {
						t.Errorf("exit %+v, partial %v; want 1 with a reason, partial", doc.Exit, doc.Partial)
					}
					if len(doc.Cells) < p.cells {
						t.Errorf("%d cells, want %d", len(doc.Cells), p.cells)
					}
					time.Sleep(time.Minute) // for the answers that the servers still owe the sessions
				})
			})
		}
	}
}

func TestLeavingAtOnce(t *testing.T) {
	for _, p := range phases[1:] {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lines := p.lines
				if lines == nil {
					lines = long
				}
				r := newRig(t, latency, lines...)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var at time.Time
				p.enter(r, func() { at = time.Now(); r.interrupt(); cancel() })
				doc, err := r.runIn(ctx)
				if took := time.Since(at); took > 5*time.Second {
					t.Errorf("it took %v to leave", took)
				}
				if err == nil || doc == nil {
					t.Fatalf("error %v, document %v", err, doc)
				}
				if !doc.Partial || doc.Exit.Code != 130 || doc.LeftBehind != "" {
					t.Errorf("partial %v, exit %+v, left behind %q", doc.Partial, doc.Exit, doc.LeftBehind)
				}
				r.clean()
			})
		})
	}
}

// Ending a run at once bounds its clean-up: servers that are slow to remove the root do not delay it any longer, and the run reports what
// is left.
func TestASecondSignalBoundsTheCleanUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, long...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var at time.Time
		r.at(outcome.PhaseSteady, 2*time.Second, func() {
			at = time.Now()
			r.ens.Hook(func(op zktest.Op) zktest.Action {
				if op.Kind == zk.KindDelete && strings.HasSuffix(op.Path, "/cell-1") && !op.Applied {
					time.Sleep(time.Minute)
				}
				return zktest.Action{}
			})
			r.interrupt()
			cancel()
		})
		doc, err := r.runIn(ctx)
		if took := time.Since(at); took > forcedRemoval+5*time.Second || took < forcedRemoval {
			t.Errorf("it took %v to leave, want the %v of the clean-up", took, forcedRemoval)
		}
		if err == nil || doc == nil || doc.Exit.Code != 130 || !strings.Contains(doc.LeftBehind, "zkbench clean --servers memory:1 --root /zkbench/test-1") {
			t.Fatalf("error %v, document %+v, want one that tells what is left behind", err, doc)
		}
		time.Sleep(2 * time.Minute) // the delayed request ends
	})
}
