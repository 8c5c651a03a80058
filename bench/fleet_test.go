package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// ships are the shares of one run, each with its own rig, on one ensemble in memory; they meet on another.
type ships struct {
	t       *testing.T
	all     []*rig
	meets   *zktest.Ensemble
	seen    []atomic.Pointer[zktest.Session] // with the coordinator, by share
	finish  bool
	allowed bool
}

func newShips(t *testing.T, n int, cfg zktest.Config, lines ...string) *ships {
	f := &ships{t: t, meets: zktest.New(zktest.Config{Timeout: 4 * time.Second}), seen: make([]atomic.Pointer[zktest.Session], n)}
	for i := range n {
		r := newRig(t, cfg, lines...)
		if i > 0 {
			r.ens = f.all[0].ens
		}
		r.config.Share = fleet.Share{Index: i, Count: n}
		f.all = append(f.all, r)
	}
	return f
}

// run lets all shares meet and carry out the run, each after its delay. It returns the document and the error of each share.
func (f *ships) run(delays ...time.Duration) (docs []*results.Run, errs []error) {
	docs, errs = make([]*results.Run, len(f.all)), make([]error, len(f.all))
	var wait sync.WaitGroup
	for i, r := range f.all {
		wait.Go(func() {
			if i < len(delays) {
				time.Sleep(delays[i])
			}
			m, err := f.join(f.t.Context(), i, func(s *zktest.Session) { f.seen[i].Store(s) })
			if err != nil {
				errs[i] = err
				return
			}
			defer m.Close()
			r.config.Meeting, r.config.Root, r.config.Name, r.config.AllowShared = m, m.Plan().Root, m.Plan().Run, f.allowed
			docs[i], errs[i] = r.run()
		})
	}
	wait.Wait()
	return docs, errs
}

// session returns the session of a share with the coordinator.
func (f *ships) session(i int) *zktest.Session { return f.seen[i].Load() }

func TestSharesCarryOutOneRun(t *testing.T) {
	for _, profile := range [][]string{
		{"variants: [predecessor]", "sessions: 10", "objects: 3", "rate: 40", "repetitions: 2", "duration: 2s"},
		{"variants: [persistent]", "sessions: [7, 10]", "hold: 50ms", "duration: 2s"},
		{"workload: read-write", "variants: [read-write]", "sessions: 9", "readers: 50", "hold: 50ms", "duration: 2s"},
		{"workload: election", "variants: [predecessor]", "sessions: 9", "failover: resign", "hold: 50ms", "duration: 2s"},
		{"workload: queue", "variants: [fifo]", "sessions: 9", "rate: 40", "payload: 16", "hold: 2ms", "duration: 2s"},
	} {
		t.Run(strings.Join(profile, "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newShips(t, 3, zktest.Config{OpLatency: time.Millisecond}, profile...)
				docs, errs := f.run(0, time.Second)
				for i, doc := range docs {
					if errs[i] != nil || doc.Exit.Code != 0 || doc.Partial {
						t.Fatalf("share %d: %v, exit %v", i+1, errs[i], doc.Exit)
					}
					if doc.Share == nil || doc.Share.Number != i+1 || doc.Share.Shares != 3 || doc.Share.Meeting != docs[0].Share.Meeting {
						t.Errorf("share %d is said to be %+v", i+1, doc.Share)
					}
					for n, c := range doc.Cells {
						if c.Operations == 0 || c.Name != docs[0].Cells[n].Name {
							t.Errorf("share %d: cell %s has %d operations, and is %s of the first share", i+1, c.Name, c.Operations, docs[0].Cells[n].Name)
						}
						if _, reported := c.Latency["hand-off.service"]; reported {
							t.Errorf("share %d tells hand-offs, of which it does not see the releases", i+1)
						}
						skew := c.Started.Sub(docs[0].Cells[n].Started)
						if skew.Abs() > 10*time.Millisecond {
							t.Errorf("share %d began cell %d %v after the first", i+1, n+1, skew)
						}
						for _, k := range c.Checks {
							if k.Name == "liveness" || k.Name == "conservation" || k.Name == "nothing-left" && i > 0 {
								t.Errorf("share %d judges %s", i+1, k.Name)
							}
						}
					}
				}
				heard := 0
				for _, u := range f.all[0].updates {
					if u.Fleet != nil && u.Fleet.Heard == 3 && u.Fleet.PerSecond > 0 {
						heard++
					}
				}
				if heard == 0 {
					t.Error("the first share never showed all three")
				}
				f.all[0].clean()
			})
		})
	}
}

// notes records every unit of work that each session was offered, and what it drew.
type notes struct {
	mu    sync.Mutex
	units map[uint32][]string
}

func (n *notes) Setup(context.Context, zk.Session) error                     { return nil }
func (n *notes) Inspect(context.Context, zk.Session, metrics.Recorder) error { return nil }
func (n *notes) Checks() []check.Check                                       { return nil }
func (n *notes) Measures() []workloads.Measure {
	return []workloads.Measure{{Op: metrics.GetData, Role: workloads.Operation, Unit: "units", Timed: true}}
}

func (n *notes) Join(seat workloads.Seat) workloads.Step {
	return workloads.StepFunc(func(_ context.Context, due time.Duration) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.units[seat.ID] = append(n.units[seat.ID], fmt.Sprintf("%d %x", due, math.Float64bits(seat.Rand.Float64())))
		seat.Recorder.Record(metrics.Sample{Op: metrics.GetData, Session: seat.ID, Due: due, Start: due, End: due})
		return nil
	})
}

// For any number of shares, each session is offered exactly the same work at the same times.
func TestSharesOfferTheLoadOfOne(t *testing.T) {
	for _, profile := range [][]string{{"rate: 100"}, {"rate: 100", "arrivals: uniform"}, {"think: {exponential: 200ms}", "repetitions: 2"}} {
		t.Run(strings.Join(profile, "-"), func(t *testing.T) {
			var whole map[uint32][]string
			var due int64
			for _, n := range []int{1, 2, 8} {
				synctest.Test(t, func(t *testing.T) {
					f := newShips(t, n, zktest.Config{}, append(profile, "sessions: 20", "arrivals: poisson")[:len(profile)+1]...)
					noted, kind := &notes{units: map[uint32][]string{}}, workloads.Locks(nil)
					kind.Variants = []workloads.Variant{{Name: "predecessor", New: func(workloads.Load, map[string]string) (workloads.Workload, error) { return noted, nil }}}
					for _, r := range f.all {
						r.config.Setup.Workloads = []workloads.Kind{kind}
					}
					docs, errs := f.run()
					if err := errors.Join(errs...); err != nil {
						t.Fatal(err)
					}
					sum := int64(0)
					for _, doc := range docs {
						for _, c := range doc.Cells {
							sum += c.Due
						}
					}
					if whole == nil {
						whole, due = noted.units, sum
					}
					if sum != due {
						t.Errorf("%d shares were offered %d, one %d", n, sum, due)
					}
					if len(noted.units) != 20 {
						t.Errorf("%d sessions took part", len(noted.units))
					}
					for id, units := range noted.units {
						if strings.Join(units, ",") != strings.Join(whole[id], ",") || len(units) == 0 {
							t.Fatalf("of %d shares session %d was offered %d units, of one %d, or others", n, id, len(units), len(whole[id]))
						}
					}
				})
			}
		})
	}
}

// Whatever ends one share ends all of them, and nothing is left on the servers under test.
func TestASharesEndIsThatOfAll(t *testing.T) {
	long := []string{"sessions: 6", "duration: 1h", "drain: 1h", "session_timeout: 4s", "hold: 100ms"}
	for _, test := range []struct {
		name   string
		finish bool
		do     func(f *ships)
		codes  [3]int
		said   string
	}{
		{"an interrupt", false, func(f *ships) { f.all[2].interrupt() }, [3]int{130, 130, 130}, "interrupted at share 3"},
		{"the loss of a share", false, func(f *ships) { f.meets.Partition(f.session(2)) }, [3]int{5, 5, 5}, "a share was lost: share 3"},
		{"the loss of a share, and the cell is finished", true, func(f *ships) { f.meets.Partition(f.session(2)) }, [3]int{5, 5, 5}, "a share was lost: share 3"},
		{"the loss of the coordinator", false, func(f *ships) {
			for i := range f.all {
				f.meets.Partition(f.session(i))
			}
		}, [3]int{5, 5, 5}, "the coordinator was lost"},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lines := long
				if test.finish || strings.Contains(test.name, "coordinator") {
					lines = []string{"sessions: 6", "duration: 14s", "session_timeout: 4s", "hold: 100ms"}
				}
				f := newShips(t, 3, zktest.Config{OpLatency: time.Millisecond}, lines...)
				f.finish = test.finish
				f.all[0].at(outcome.PhaseSteady, 4*time.Second, func() { test.do(f) })
				docs, errs := f.run()
				for i, doc := range docs {
					if doc == nil {
						t.Fatalf("share %d has no document: %v", i+1, errs[i])
					}
					if doc.Exit.Code != test.codes[i] || !doc.Partial || len(doc.Cells) != 1 || !doc.Cells[0].Partial {
						t.Errorf("share %d: exit %v, partial %v, %d cells; want %d, a partial cell", i+1, doc.Exit, doc.Partial, len(doc.Cells), test.codes[i])
					}
					if i == 0 && !strings.Contains(doc.Exit.Reason, test.said) {
						t.Errorf("share 1 says %q, want %q in it", doc.Exit.Reason, test.said)
					}
					for _, k := range doc.Cells[0].Checks {
						if k.Verdict == check.Holds.String() && doc.Exit.Code == 5 {
							t.Errorf("share %d: %s holds, though a share is not accounted for", i+1, k.Name)
						}
					}
				}
				time.Sleep(time.Minute) // the sessions that were cut off expire
				f.all[0].clean()
			})
		})
	}
}

func TestAShareThatCannotBeginEndsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newShips(t, 3, zktest.Config{}, "sessions: 6")
		f.all[1].refuse = func(seat int) error {
			if seat == 4 {
				return errRefused
			}
			return nil
		}
		docs, errs := f.run()
		for i := range docs {
			if errs[i] == nil || docs[i] != nil && docs[i].Exit.Code != 1 {
				t.Errorf("share %d: %v, %v", i+1, errs[i], docs[i].Exit)
			}
		}
		if want := "share 2"; !errors.Is(errs[0], fleet.ErrFailed) || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("share 1 says %v, want %q in it", errs[0], want)
		}
		f.all[0].clean()
	})
}

func TestTheMeetingIsNotOnTheServersUnderTest(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newShips(t, 2, zktest.Config{})
			f.meets, f.allowed = f.all[0].ens, allowed
			docs, errs := f.run()
			for i := range docs {
				refused := errs[i] != nil && strings.Contains(errs[i].Error(), "the shares meet on the servers under test")
				if allowed == refused || allowed && (errs[i] != nil || docs[i].Exit.Code != 0) {
					t.Errorf("share %d, shared ensemble allowed %v: %v", i+1, allowed, errs[i])
				}
			}
		})
	}
}

func TestWhatCannotBeShared(t *testing.T) {
	for _, test := range []struct {
		want  string
		lines []string
	}{
		{"the sessions of workload barrier cannot be shared between processes", []string{"workload: barrier", "variants: [barrier]", "barriers: 3"}},
		{"2 sessions cannot be shared by 3 processes", []string{"sessions: [6, 2]"}},
		{"fence: a register is in one process", []string{"fence: [none, register]"}},
		{"the sessions of workload delay-queue cannot be shared between processes", []string{"workload: delay-queue", "variants: [delay]"}},
		{"expire is injected into sessions of one process", []string{"faults: [{at: 1s, kind: kill, server: 1}, {at: 1s, kind: expire, session: 1}]"}},
	} {
		r := newRig(t, zktest.Config{}, test.lines...)
		err := r.config.CheckShare(r.config.Profile, fleet.Share{Index: 1, Count: 3})
		if !errors.Is(err, ErrProfile) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want %q in it", test.lines, err, test.want)
		}
		if err := r.config.CheckShare(r.config.Profile, fleet.Share{}); err != nil {
			t.Errorf("%v, not shared: %v", test.lines, err)
		}
	}
}

// The blocks of all shares together equal those of one process.
func TestBlocksOfSharesAreThoseOfOne(t *testing.T) {
	var whole []capacity.Block
	for _, n := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			f := newShips(t, n, zktest.Config{OpLatency: time.Millisecond}, "sessions: 10", "objects: 10", "rate: 60", "hold: 2ms", "saturation: allowed")
			var parts [][]capacity.Block
			for _, r := range f.all {
				b := &load.Blocks{Length: 2 * time.Second, Max: 4, Limits: []load.Limit{{Response: 4 * time.Millisecond}}, Enough: func(all []capacity.Block) bool { return len(all) == 2 }}
				r.config.Blocks, r.config.Profile.Duration = b, b.Steady()
			}
			_, errs := f.run()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			for _, r := range f.all {
				parts = append(parts, r.config.Blocks.Counted)
			}
			sum := capacity.Together(parts[0], parts[1:]...)
			if n == 1 {
				whole = sum
			}
			if len(sum) != 2 || len(whole) != 2 {
				t.Fatalf("%d blocks of %d shares, %d of one", len(sum), n, len(whole))
			}
			for k, b := range sum {
				if b.Due != whole[k].Due || b.Due < 90 || b.Ended != b.Due || b.Mean <= 0 || n > 1 && b.Due == parts[0][k].Due {
					t.Errorf("block %d of %d shares: %+v, of one %+v", k+1, n, b, whole[k])
				}
			}
		})
	}
}
