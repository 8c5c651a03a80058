package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// searchers are the shares of a search on one server in memory, which meet on another.
type searchers struct {
	t      *testing.T
	all    []*prober
	docs   []*results.Capacity
	meets  *zktest.Ensemble
	server *oneByOne
	finish bool

	mu       sync.Mutex
	sessions map[int][]*zktest.Session // with the coordinator, by share from 0
}

// newSearchers returns n shares. With n = 1 it is a search without shares.
func newSearchers(t *testing.T, n int, plan capacity.Plan) *searchers {
	f := &searchers{t: t, meets: zktest.New(zktest.Config{Timeout: 4 * time.Second}), sessions: map[int][]*zktest.Session{}}
	for i := range n {
		m, p := memorySearch(t, overRate, plan)
		if i == 0 {
			f.server = m
		}
		p.a, p.ensemble, p.r.out, p.look = f.app(p), f.server, filepath.Join(t.TempDir(), fmt.Sprint("share-", i+1)), nil
		f.all = append(f.all, p)
		planned := p.r.plan
		planned.Goals = p.search.Result().Goals
		kept := planKept(planned)
		f.docs = append(f.docs, &results.Capacity{Schema: results.CapacitySchema, Goals: []string{"p99<50ms"}, Over: overRate, Unit: "operations/s", Seed: plan.Seed, Started: time.Now(),
			Plan: kept, Shares: n})
	}
	return f
}

// app returns the command of a share. All shares load the server of the first.
func (f *searchers) app(p *prober) *app {
	if len(f.all) > 0 {
		return f.all[0].a
	}
	return p.a
}

// cut cuts a share off from the coordinator.
func (f *searchers) cut(i int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sessions[i] {
		f.meets.Partition(s)
	}
}

// run carries out the search with all shares.
func (f *searchers) run() {
	var wait sync.WaitGroup
	for i, p := range f.all {
		wait.Go(func() {
			if err := f.search(i, p); err != nil {
				f.t.Errorf("share %d: %v", i+1, err)
			}
		})
	}
	wait.Wait()
}

func (f *searchers) search(i int, p *prober) (err error) {
	if err := os.MkdirAll(p.r.out, 0o755); err != nil {
		return err
	}
	if n := len(f.all); n > 1 {
		p.s.starting = p.s.working
		p.sharedPlan, err = p.a.sharedPlanAt(p.s, fleet.Config{Path: "/m/1", Share: fleet.Share{Index: i, Count: n}, MeetTimeout: time.Minute, Finish: f.finish, Plan: fleet.Plan{Run: "search"},
			Dial: func(context.Context) (zk.Session, error) {
				s := f.meets.Dial()
				f.mu.Lock()
				f.sessions[i] = append(f.sessions[i], s)
				f.mu.Unlock()
				return s, nil
			}})
		if err != nil {
			return err
		}
		p.sharedPlan.out, p.sharedPlan.tell = p.r.out, func(string, ...any) {}
	}
	if p.sharedPlan.leads() {
		p.all(f.docs[i], time.Hour)
	} else {
		p.follow(f.docs[i])
	}
	return p.sharedPlan.finish(f.docs[i], f.docs[i].Exit, p.broken)
}

// answers returns the SHA-256 of the answer of each share that ended with one, from the coordinator.
func answers(t *testing.T, meets *zktest.Ensemble, path string) (all []string) {
	t.Helper()
	for at, data := range meets.Tree() {
		var o fleet.Outcome
		if !strings.HasPrefix(at, path+"/done/") {
			continue
		}
		if err := json.Unmarshal(data.Data, &o); err != nil {
			t.Error(err)
		}
		if o.Answer != "" {
			all = append(all, o.Answer)
		}
	}
	return all
}

// left returns what a search leaves on the coordinator in addition to what each meeting has.
func (f *searchers) left() (all []string) {
	for path := range f.meets.Tree() {
		for _, place := range []string{atOrders, atLoads, atCounted, atSent} {
			if strings.HasPrefix(path, "/m/1/"+place) {
				all = append(all, path)
			}
		}
	}
	return all
}

// Three shares find the capacity that one process finds, each of them reports it, and each probe is one run of all three.
func TestSharesFindTheCapacityOfOne(t *testing.T) {
	tier.Long(t, "a minute of computing; TestALostShareEndsTheSearch searches with shares too")
	t.Parallel()
	plan := capacity.Plan{From: 60, To: 1000, Width: 0.5, Confirm: 2, Budget: 4 * time.Minute, Seed: 3}
	var alone *results.Capacity
	for _, n := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			f := newSearchers(t, n, plan)
			f.server.service = 2 * time.Millisecond
			f.run()
			doc := f.docs[0]
			if doc.Outcome != string(capacity.Found) || doc.Exit.Code != exitOK || len(f.left()) > 0 {
				t.Fatalf("%d shares: %s (%s), %v left on the coordinator", n, doc.Outcome, doc.Reason, f.left())
			}
			t.Logf("%d shares: %.1f/s (%.1f to %.1f), %d probes", n, *doc.Load, *doc.Low, *doc.High, len(doc.Probes))
			if n == 1 {
				alone = doc
				return
			}
			if math.Abs(math.Log(*doc.Load / *alone.Load)) > 0.4 || *doc.Low > *alone.High || *doc.High < *alone.Low {
				t.Errorf("%d shares find %.1f/s (%.1f to %.1f), one process %.1f/s (%.1f to %.1f)", n, *doc.Load, *doc.Low, *doc.High, *alone.Load, *alone.Low, *alone.High)
			}
			for k, p := range doc.Probes {
				if p.Load != alone.Probes[k].Load || p.Decision != alone.Probes[k].Decision { // from here on they differ
					break
				}
				for i := range min(len(p.Blocks), len(alone.Probes[k].Blocks)) {
					if p.Blocks[i].Due != alone.Probes[k].Blocks[i].Due {
						t.Errorf("probe %d, block %d: %d came due, for one process %d", k+1, i+1, p.Blocks[i].Due, alone.Probes[k].Blocks[i].Due)
					}
				}
			}
			own, err := answerSum(doc)
			if all := answers(t, f.meets, "/m/1"); err != nil || len(all) != n || len(slices.Compact(append(all, own))) != 1 {
				t.Errorf("the answers of the shares are %v, of the first %s, %v", all, own, err)
			}
			for i, output := range f.docs {
				if sum, _ := answerSum(output); sum != own {
					t.Errorf("share %d has the answer %s, the first %s", i+1, sum, own)
				}
				if output.Outcome != doc.Outcome || *output.Load != *doc.Load || len(output.Probes) != len(doc.Probes) || output.Exit != doc.Exit {
					t.Errorf("share %d tells %s %v", i+1, output.Outcome, output.Load)
				}
				if contradictions, err := again(output); err != nil || len(contradictions) > 0 {
					t.Errorf("share %d: %v, %v", i+1, contradictions, err)
				}
				if _, err := os.Stat(filepath.Join(f.all[i].r.out, fmt.Sprintf("probe-01-share-%d", i+1), results.PartFile)); err != nil {
					t.Error(err)
				}
			}
			for _, p := range doc.Probes {
				dir := filepath.Join(f.all[0].r.out, p.Dir)
				run, err := results.Read(dir)
				if err != nil {
					t.Fatal(err)
				}
				contradictions, err := results.Validate(dir)
				if err != nil || len(contradictions) > 0 {
					t.Errorf("%s: %v, %v", p.Dir, contradictions, err)
				}
				due := 0
				for _, b := range p.Blocks {
					due += b.Due
				}
				if c := run.Cells[0]; len(run.Shares) != n || run.Share != nil || c.Partial || c.Due < int64(due) || len(c.Shares) != n {
					t.Errorf("%s is of %d shares, with %d operations, of which %d are in blocks", p.Dir, len(run.Shares), c.Due, due)
				}
				if i := slices.IndexFunc(run.Cells[0].Checks, func(c results.Check) bool { return c.Name == "mutual-exclusion" && c.Uncontended }); i < 0 {
					t.Errorf("%s: mutual exclusion is not known to be without contention: %+v", p.Dir, run.Cells[0].Checks)
				}
			}
		})
	}
}

// A lost share ends the search for all: what was found before stays, and fewer shares report no capacity.
func TestALostShareEndsTheSearch(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		do       func(f *searchers)
		finish   bool
		outcomes [3]string
		codes    [3]int
	}{
		"one that follows":               {func(f *searchers) { f.cut(1) }, false, [3]string{outcomeLost, outcomeLost, outcomeLost}, [3]int{5, 5, 5}},
		"one that follows, and finished": {func(f *searchers) { f.cut(1) }, true, [3]string{outcomeLost, outcomeLost, outcomeLost}, [3]int{5, 5, 5}},
		"the lowest":                     {func(f *searchers) { f.cut(0) }, false, [3]string{outcomeLost, outcomeLost, outcomeLost}, [3]int{5, 5, 5}},
		"the coordinator":                {func(f *searchers) { f.cut(0); f.cut(1); f.cut(2) }, false, [3]string{outcomeLost, outcomeLost, outcomeLost}, [3]int{5, 5, 5}},
		"none: one is interrupted": {func(f *searchers) { close(f.all[2].s.stop) }, false, [3]string{outcomeInterrupted, outcomeInterrupted, outcomeInterrupted},
			[3]int{130, 130, 130}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newSearchers(t, 3, capacity.Plan{From: 30, To: 1000, Width: 0.5, Confirm: 2, Budget: 5 * time.Minute})
				f.server.service, f.finish = 2*time.Millisecond, test.finish
				time.AfterFunc(45*time.Second, func() { test.do(f) }) // during the climb
				f.run()
				for i, doc := range f.docs {
					if doc.Outcome != test.outcomes[i] || doc.Exit.Code != test.codes[i] || doc.Load != nil || doc.Low != nil {
						t.Errorf("share %d: %s, exit %v, capacity %v; want %s, %d", i+1, doc.Outcome, doc.Exit, doc.Load, test.outcomes[i], test.codes[i])
					}
				}
				if doc := f.docs[0]; len(doc.Probes) == 0 || doc.Passed == nil || *doc.Passed < 30 {
					t.Errorf("the first share forgot %d probes; %v passed", len(doc.Probes), doc.Passed)
				}
				if contradictions, err := again(f.docs[0]); err != nil || len(contradictions) > 0 {
					t.Errorf("the first share: %v, %v", contradictions, err)
				}
				time.Sleep(time.Minute) // the sessions that were cut off expire
			})
		})
	}
}

// A share that ends with another answer than the first share is reported by name.
func TestAnAnswerThatDiffersIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meets := zktest.New(zktest.Config{})
		var all [2]*sharedPlan
		var wait sync.WaitGroup
		for i := range all {
			wait.Go(func() {
				s := &signals{stop: make(chan struct{}), starting: t.Context(), working: t.Context()}
				c, err := (&app{stdout: io.Discard, stderr: io.Discard}).sharedPlanAt(s, fleet.Config{Path: "/m", Share: fleet.Share{Index: i, Count: 2}, MeetTimeout: time.Minute,
					Dial: func(context.Context) (zk.Session, error) { return meets.Dial(), nil }})
				if err != nil {
					t.Error(err)
					return
				}
				c.tell = func(string, ...any) {}
				all[i] = c
			})
		}
		wait.Wait()
		var errs [2]error
		for i, load := range []float64{100, 101} {
			wait.Go(func() { errs[i] = all[i].finish(&results.Capacity{Load: &load}, results.Exit{}, nil) })
		}
		wait.Wait()
		if errs[0] == nil || !strings.Contains(errs[0].Error(), "share 2") || !strings.Contains(errs[0].Error(), "ended with another answer: SHA-256 ") {
			t.Errorf("the first share says %v", errs[0])
		}
	})
	synctest.Test(t, func(t *testing.T) {
		meets := zktest.New(zktest.Config{})
		m, err := fleet.Join(t.Context(), fleet.Config{Path: "/m", Share: fleet.Share{Count: 1}, MeetTimeout: time.Minute, Plan: fleet.Plan{Shares: 1, Nonce: "n"},
			Dial: func(context.Context) (zk.Session, error) { return meets.Dial(), nil }})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		c := &sharedPlan{s: &signals{working: t.Context()}, meeting: m}
		if err := c.send(t.Context(), order{Document: json.RawMessage(`{"outcome":"found"}`), SHA256: "other"}, atOrders, 1); err != nil {
			t.Fatal(err)
		}
		if err := c.follow(&results.Capacity{}); err == nil || !strings.Contains(err.Error(), "SHA-256 other there") {
			t.Errorf("an answer that is not the one that was sent: %v", err)
		}
	})
}

// Shares with different searches are refused.
func TestSearchesThatDifferDoNotMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meets := zktest.New(zktest.Config{})
		join := func(index int, task string) error {
			m, err := fleet.Join(t.Context(), fleet.Config{Path: "/m", Share: fleet.Share{Index: index, Count: 2}, MeetTimeout: time.Second, Plan: fleet.Plan{Shares: 2, Nonce: "n", Task: task},
				Dial: func(context.Context) (zk.Session, error) { return meets.Dial(), nil }})
			if err == nil {
				m.Close()
			}
			return err
		}
		var wait sync.WaitGroup
		wait.Go(func() { join(0, "capacity over rate") })
		time.Sleep(100 * time.Millisecond)
		if err := join(1, ""); err == nil || !strings.Contains(err.Error(), "task: capacity over rate in the plan, run here") {
			t.Errorf("a run met a search: %v", err)
		}
		wait.Wait()
	})
}

// Shares compare two sides as one process does: all shares carry out each run together, and all report the same.
func TestSharesCompare(t *testing.T) {
	for name, lost := range map[string]bool{"to the end": false, "one is lost": true} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				meets := zktest.New(zktest.Config{Timeout: 4 * time.Second})
				server, first := newOneByOne(t)
				var mu sync.Mutex
				var docs [2]*results.Comparison
				var sessions [2][]*zktest.Session // with the coordinator
				var wait sync.WaitGroup
				for i := range docs {
					a := &app{setup: first.setup, stdout: io.Discard, stderr: io.Discard}
					a.setup.Engines = []target.Engine{first.setup.Engines[len(first.setup.Engines)-1], {Name: "native", Persistent: true,
						Open: func(context.Context, target.Dialing) (zk.Session, error) {
							s := meets.Dial()
							mu.Lock()
							sessions[i] = append(sessions[i], s)
							mu.Unlock()
							return s, nil
						}}}
					r := abFlags{servers: "127.0.0.1:1", effect: "5%", pairs: 2, out: filepath.Join(t.TempDir(), fmt.Sprint("share-", i+1)), watching: watching{quiet: true, progress: progressNone},
						fleet: fleetFlags{meet: "zk://127.0.0.1:1/m", path: "/m", coordinator: []string{"127.0.0.1:1"}, onLoss: "stop", meetTimeout: time.Minute, allowShared: true,
							part: fleet.Share{Index: i, Count: 2}}}
					for k, hold := range []string{"5ms", "15ms"} {
						r.sides[k] = abSide{flag: []string{"--a", "--b"}[k], profile: "locks"}
						r.sides[k].sets = []string{"engine=memory", "variants=[predecessor]", "sessions=[4]", "objects=[1]", "warmup=1s", "duration=3s", "repetitions=1", "ensemble=given", "hold=" + hold}
					}
					c, err := a.plan(t.Context(), &r)
					if err != nil {
						t.Fatal(err)
					}
					if err := os.MkdirAll(r.out, 0o755); err != nil {
						t.Fatal(err)
					}
					s := &signals{stop: make(chan struct{}), starting: t.Context(), working: t.Context()}
					wait.Go(func() {
						doc, err := a.runTogether(s, r, c, &ensembles{sides: [2]ensemble.Ensemble{server, server}}, "")
						if docs[i] = doc; (err != nil) != lost {
							t.Errorf("share %d: %v", i+1, err)
						}
					})
				}
				if lost {
					time.AfterFunc(9*time.Second, func() {
						mu.Lock()
						defer mu.Unlock()
						for _, s := range sessions[1] {
							meets.Partition(s)
						}
					})
				}
				wait.Wait()
				for i, doc := range docs {
					if doc == nil || doc.Exit.Code != exitUnknown { // two pairs are too few for a verdict
						t.Fatalf("share %d: %+v", i+1, doc)
					}
				}
				if lost {
					if !strings.Contains(docs[0].Exit.Reason, "share") || !strings.Contains(docs[1].Exit.Reason, "lost") {
						t.Errorf("the shares end for %q and %q", docs[0].Exit.Reason, docs[1].Exit.Reason)
					}
					time.Sleep(time.Minute)
					return
				}
				if a, b := docs[0], docs[1]; len(a.Cells) != 1 || len(b.Cells) != 1 || len(a.Baseline.Runs) != 2 || a.Shares != 2 || a.Candidate.Name != b.Candidate.Name {
					t.Fatalf("%+v and %+v", a, b)
				}
				if all := answers(t, meets, "/m"); len(all) != 2 || all[0] != all[1] {
					t.Errorf("the answers of the shares are %v", all)
				}
				for _, m := range docs[0].Cells[0].Metrics {
					if strings.Contains(m.Metric, "hand-off") || m.Effect == nil || *m.Effect > 0.9 { // each grant takes 10 ms more
						t.Errorf("%s: effect %v", m.Metric, m.Effect)
					}
				}
				run, err := results.Read(docs[0].Baseline.Runs[0])
				if err != nil || len(run.Shares) != 2 || len(run.Cells) != 1 || len(run.Cells[0].Shares) != 2 || run.Exit.Code != exitOK {
					t.Errorf("the first run: %+v, %v", run, err)
				}
			})
		})
	}
}
