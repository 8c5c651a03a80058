package bench

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
	zklock "github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// judged is a workload with the checks of a test.
type judged struct {
	workloads.Workload
	checks []check.Check
}

func (j judged) Checks() []check.Check { return j.checks }

// judge replaces the checks of the run's workload.
func (r *rig) judge(checks ...check.Check) {
	kind := workloads.Locks(zklock.Variants())
	for i, v := range kind.Variants {
		kind.Variants[i].New = func(l workloads.Load, o map[string]string) (workloads.Workload, error) {
			w, err := v.New(l, o)
			return judged{w, checks}, err
		}
	}
	r.config.Workloads = []workloads.Kind{kind}
}

func says(name string, v check.Verdict) check.Check {
	return check.Check{Name: name, Judge: func(iter.Seq[metrics.Sample], *spill.Room) check.Verdict { return v }}
}

func TestExitOfVerdicts(t *testing.T) {
	holds := says("fine", check.Verdict{Answer: check.Holds, Evidence: 3})
	unknown := says("open", check.Verdict{Detail: "nothing was seen"})
	violated := says("broken", check.Verdict{Answer: check.Violated, Count: 2, Evidence: 9, Detail: "two held",
		Witness: []metrics.Sample{{Op: metrics.Acquire, Session: 1, End: time.Second}, {Op: metrics.Acquire, Session: 2, End: 2 * time.Second}}})
	for _, c := range []struct {
		name   string
		checks []check.Check
		rig    func(r *rig)
		code   int
		reason string // each of its parts, by line
	}{
		{name: "all hold", checks: []check.Check{holds, holds}, code: 0},
		{name: "one is unknown", checks: []check.Check{holds, unknown}, code: 5, reason: "no evidence: open of predecessor with 4 sessions"},
		{name: "one is violated", checks: []check.Check{violated, unknown, holds}, code: 4,
			reason: "violated: broken of predecessor with 4 sessions\nno evidence: open of predecessor"},
		{name: "repetitions of a cell share the reason", checks: []check.Check{unknown}, code: 5, reason: "no evidence: open of predecessor with 4 sessions",
			rig: func(r *rig) { r.config.Profile.Repetitions = 2 }},
		{name: "an interrupt is worse than no evidence", checks: []check.Check{unknown}, code: 130, reason: "interrupted\nno evidence: open",
			rig: func(r *rig) { r.at(outcome.PhaseSteady, 2*time.Second, r.interrupt) }},
		{name: "a violation is worse than an interrupt", checks: []check.Check{violated}, code: 4, reason: "interrupted\nviolated: broken",
			rig: func(r *rig) { r.at(outcome.PhaseSteady, 2*time.Second, r.interrupt) }},
		{name: "an error is worse than no evidence", checks: []check.Check{unknown}, code: 1, reason: "a server ended\nno evidence: open",
			rig: func(r *rig) {
				r.at(outcome.PhaseSteady, 2*time.Second, func() { r.set(func() { r.ended = errors.New("a server ended") }) })
			}},
		{name: "a violation is worse than an error", checks: []check.Check{violated}, code: 4, reason: "a server ended\nviolated: broken",
			rig: func(r *rig) {
				r.at(outcome.PhaseSteady, 2*time.Second, func() { r.set(func() { r.ended = errors.New("a server ended") }) })
			}},
		{name: "nothing but errors", checks: []check.Check{holds}, code: 1, reason: "nothing but errors: predecessor with 4 sessions",
			rig: func(r *rig) {
				r.ens.Hook(func(op zktest.Op) zktest.Action {
					if !op.Applied && op.Kind == zk.KindCreate && strings.Contains(op.Path, "/lock-0/") {
						time.Sleep(time.Millisecond)
						return zktest.Action{Err: zk.ErrQuota}
					}
					return zktest.Action{}
				})
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, latency)
				r.judge(c.checks...)
				if c.rig != nil {
					c.rig(r)
				}
				doc, _ := r.run()
				if doc.Exit.Code != c.code {
					t.Errorf("exit %+v, want %d", doc.Exit, c.code)
				}
				for part := range strings.Lines(c.reason) {
					if n := strings.Count(doc.Exit.Reason, strings.TrimSpace(part)); n != 1 {
						t.Errorf("reason %q has %q %d times, want once", doc.Exit.Reason, part, n)
					}
				}
				if c.code == 0 && doc.Exit.Reason != "" {
					t.Errorf("reason %q of a run that went well", doc.Exit.Reason)
				}
				kept, err := results.Read(r.config.Out.Path())
				if err != nil {
					t.Fatal(err)
				}
				for i, k := range kept.Cells[0].Checks {
					v := c.checks[i].Judge(nil, nil)
					if k.Name != c.checks[i].Name || k.Verdict != v.Answer.String() || k.Evidence != v.Evidence || k.Count != v.Count ||
						k.Detail != v.Detail || len(k.Witness) != len(v.Witness) {
						t.Errorf("written: %+v, judged: %+v", k, v)
					}
				}
			})
		})
	}
}

// Checks are given every sample of the cell in order of time, including the warm-up and the drain.
func TestChecksSeeTheWholeHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "sessions: [5]", "duration: 3s")
		var seen []metrics.Sample
		r.judge(check.Check{Name: "all", Judge: func(history iter.Seq[metrics.Sample], _ *spill.Room) check.Verdict {
			for s := range history {
				seen = append(seen, s)
			}
			return check.Verdict{Answer: check.Holds, Evidence: len(seen)}
		}})
		c := r.mustRun().Cells[0]
		grants, left := map[string]int64{}, 0
		for i, s := range seen {
			if i > 0 && s.End < seen[i-1].End {
				t.Fatalf("sample %d is earlier than the one before it", i)
			}
			switch {
			case s.Op == metrics.Left:
				left++
			case s.Op != metrics.Acquire:
			case s.End.Seconds() < c.Steady.From:
				grants["warm-up"]++
			case s.End.Seconds() < c.Steady.To:
				grants["steady"]++
			default:
				grants["drain"]++
			}
		}
		if grants["steady"] != c.Operations || grants["warm-up"] == 0 || grants["drain"] == 0 || left != 2 { // with the sessions open, and with them closed
			t.Errorf("%v grants, %d operations, %d objects looked at", grants, c.Operations, left)
		}
	})
}

// Without contention, exclusion and order are not known. That is not a lack of evidence if the profile has no contention, but is otherwise.
func TestWithoutContentionExclusionIsNotKnown(t *testing.T) {
	for _, c := range []struct {
		lines  []string
		checks []string
		code   int
	}{
		{[]string{"sessions: 1"}, []string{"mutual-exclusion", "fifo"}, 0},
		{[]string{"sessions: 2", "objects: 2", "variants: [naive]"}, []string{"mutual-exclusion"}, 0},
		{[]string{"sessions: 2", "think: 3s", "duration: 9s"}, []string{"mutual-exclusion"}, 5}, // they take turns
		{[]string{"workload: read-write", "variants: [read-write]", "readers: 100"}, []string{"reader-writer-exclusion"}, 0},
		{[]string{"workload: semaphore", "variants: [lease]", "sessions: 3", "permits: 3"}, []string{"permits"}, 0},
		{[]string{"workload: election", "variants: [predecessor]", "sessions: 1"}, []string{"leadership"}, 0},
	} {
		t.Run(strings.Join(c.lines, ", "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, latency, c.lines...)
				if c.code != 0 {
					r.opened = func(seat int, _ *zktest.Session) { time.Sleep(time.Duration(max(seat, 0)) * 100 * time.Millisecond) }
				}
				doc, err := r.run()
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range c.checks {
					k := checkOf(t, doc.Cells[0], name)
					if k.Verdict != "unknown" || k.Uncontended != (c.code == 0) || !strings.Contains(k.Detail, "by the profile") != (c.code != 0) {
						t.Errorf("%+v", k)
					}
				}
				wantExit(t, doc, c.code, map[int]string{5: "no evidence: "}[c.code])
			})
		})
	}
}
