package bench

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// A cell of fixed work ends when all sessions have done it, and all of it is measured and judged.
func TestACellOfFixedWorkEndsWithIt(t *testing.T) {
	for _, tt := range []struct {
		workload, variant string
		operations        int64 // of 6 sessions and 20 barriers
		checks            map[string]int
	}{
		{"barrier", "barrier", 5 * 20, map[string]int{"barred": 5 * 20, "nothing-left": 2, "liveness": 5 * 20}},
		{"double-barrier", "double-barrier", 2 * 6 * 20,
			map[string]int{"enter-safety": 6 * 20, "leave-safety": 6 * 20, "equal-outcome": 6 * 20, "nothing-left": 2, "liveness": 2 * 6 * 20}},
		{"double-barrier", "double-barrier-all", 2 * 6 * 20,
			map[string]int{"enter-safety": 6 * 20, "leave-safety": 6 * 20, "equal-outcome": 6 * 20, "nothing-left": 2, "liveness": 2 * 6 * 20}},
		{"rendezvous", "rendezvous", 6 * 20, map[string]int{"enter-safety": 6 * 20, "equal-outcome": 6 * 20, "nothing-left": 2,
			"liveness": 6 * 20}},
	} {
		t.Run(tt.variant, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, zktest.Config{OpLatency: 2 * time.Millisecond, EventLatency: time.Millisecond}, "workload: "+tt.workload,
					"variants: "+tt.variant, "sessions: 6", "barriers: 20", "hold: {uniform: [1ms, 9ms]}")
				doc, err := r.run()
				if err != nil {
					t.Fatal(err)
				}
				c := doc.Cells[0]
				if c.Partial || c.Operations != tt.operations || c.ElapsedS <= 0.1 || !near(c.Throughput, float64(c.Operations)/c.ElapsedS) {
					t.Errorf("partial %v, %d operations in %v s, %v/s, want %d", c.Partial, c.Operations, c.ElapsedS, c.Throughput, tt.operations)
				}
				for name, evidence := range tt.checks {
					if k := checkOf(t, c, name); k.Verdict != "holds" || k.Evidence != evidence {
						t.Errorf("%s %s with evidence %d, want that it holds with %d: %s", name, k.Verdict, k.Evidence, evidence, k.Detail)
					}
				}
				for _, cost := range c.Costs {
					if cost.Of == "writes" && (cost.Ratio == nil || *cost.Ratio < 0.999 || *cost.Ratio > 2) { // several may find all at once
						t.Errorf("cost %+v, want the theory and no more than twice of it", cost)
					}
					if cost.Of == "events" && tt.variant != "double-barrier-all" && (cost.Ratio == nil || *cost.Ratio < 0.7 || *cost.Ratio > 1.2) {
						t.Errorf("cost %+v, want about the theory", ratioOf(cost))
					}
				}
				if c.Parameters["barriers"] == nil || c.Parameters["duration"] != nil {
					t.Errorf("parameters %v", c.Parameters)
				}
				r.clean()
			})
		})
	}
}

// A cell of transactions is measured completely, so nothing is said about responses that are too short. Its costs are per transaction.
func TestACellOfTransactionsEndsWithThem(t *testing.T) {
	for _, variant := range []string{"flat", "coordinator"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, zktest.Config{OpLatency: 2 * time.Millisecond, EventLatency: time.Millisecond}, "workload: two-phase-commit",
				"variants: "+variant, "sessions: 6", "participants: 3", "transactions: 20", "hold: {uniform: [0s, 400ms]}")
			r.ens.Hook(func(op zktest.Op) zktest.Action { // what follows a decision takes as long as the decision
				if op.Kind == zk.KindMulti && !op.Applied && strings.Contains(op.Ops[0].Path, "/ack_") {
					time.Sleep(300 * time.Millisecond)
				}
				return zktest.Action{}
			})
			c := r.mustRun().Cells[0]
			if c.Partial || c.Operations != 6*20 || c.CostPer != "transaction" {
				t.Errorf("partial %v, %d operations, costs per %q", c.Partial, c.Operations, c.CostPer)
			}
			for name, evidence := range map[string]int{"commit-agreement": 6 * 20, "decision-liveness": 6 * 20, "decision-stands": 4,
				"nothing-left": 4} {
				if k := checkOf(t, c, name); k.Verdict != "holds" || k.Evidence != evidence {
					t.Errorf("%s %s with evidence %d, want that it holds with %d: %s", name, k.Verdict, k.Evidence, evidence, k.Detail)
				}
			}
			for _, cost := range c.Costs {
				if cost.Of == "writes" && !near(*cost.Ratio, 1) {
					t.Errorf("cost %+v, want the theory", ratioOf(cost))
				}
			}
			for _, note := range c.Notes {
				if strings.Contains(note, "too short") {
					t.Errorf("note: %s", note)
				}
			}
			r.clean()
		})
	}
}

func ratioOf(c results.Cost) [2]float64 {
	if c.Theory == nil {
		return [2]float64{c.Measured, 0}
	}
	return [2]float64{c.Measured, *c.Theory}
}

func TestACellOfFixedWorkThatIsInterruptedIsPartial(t *testing.T) {
	for _, workload := range []string{"barrier", "double-barrier", "rendezvous"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, zktest.Config{OpLatency: 2 * time.Millisecond, EventLatency: time.Millisecond}, "workload: "+workload,
				"variants: "+workload,
				"sessions: 6", "barriers: 100000", "hold: 5ms")
			r.at(outcome.PhaseSteady, 6*time.Second, r.interrupt)
			doc, _ := r.run()
			c := doc.Cells[0]
			if !c.Partial || doc.Exit.Code != 130 || c.ElapsedS < 5 || c.ElapsedS > 7 || c.Operations == 0 {
				t.Errorf("%s: partial %v, exit %d, %d operations in %v s", workload, c.Partial, doc.Exit.Code, c.Operations, c.ElapsedS)
			}
			for _, k := range c.Checks {
				if k.Verdict == "violated" {
					t.Errorf("%s: %s is violated: %s", workload, k.Name, k.Detail)
				}
			}
			r.clean()
		})
	}
}
