package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

const path = "/fleets/17"

// config returns the configuration of one of three shares on an in-memory ensemble.
func config(e *zktest.Ensemble, index int) Config {
	return Config{Path: path, Share: Share{index, 3}, MeetTimeout: time.Minute, Plan: Plan{Shares: 3, Version: "test", Seed: 7, Servers: []string{"a:1", "b:2"},
		Profile: "name: p\nseed: 7\n", Root: fmt.Sprintf("/zkbench/r%d", index), Run: fmt.Sprintf("r%d", index), Nonce: fmt.Sprintf("n%d", index)},
		Dial: func(context.Context) (zk.Session, error) { return e.Dial(), nil }}
}

// gathered returns three shares that have met. change may modify the configuration of each before it joins.
func gathered(t *testing.T, e *zktest.Ensemble, change func(*Config)) (all [3]*Meeting) {
	t.Helper()
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() {
			cfg := config(e, i)
			if change != nil {
				change(&cfg)
			}
			m, err := Join(t.Context(), cfg)
			if err != nil {
				t.Errorf("share %d: %v", i+1, err)
			}
			all[i] = m
		})
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// everyone calls do for each of some shares at once, and returns the errors.
func everyone(all []*Meeting, do func(*Meeting) error) []error {
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, m := range all {
		wait.Go(func() { errs[i] = do(m) })
	}
	wait.Wait()
	return errs
}

func TestSharesMeetStageByStage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := zktest.New(zktest.Config{OpLatency: time.Millisecond})
		all := gathered(t, e, nil)
		for _, m := range all[1:] {
			if got, want := m.Plan(), all[0].Plan(); got.Nonce != want.Nonce || got.Root != want.Root || got.Run != want.Run {
				t.Errorf("the plans differ: %+v and %+v", got, want)
			}
		}
		for cell := range 3 {
			late := time.Duration(cell+1) * time.Second
			begun := time.Now()
			for _, err := range everyone(all[:], func(m *Meeting) error {
				if m == all[cell] {
					time.Sleep(late)
				}
				return m.Await(t.Context(), cell, "ready")
			}) {
				if err != nil {
					t.Error(err)
				}
			}
			if took := time.Since(begun); took < late || took > late+100*time.Millisecond {
				t.Errorf("cell %d: the shares met after %v, the last came after %v", cell, took, late)
			}
		}
		for _, err := range everyone(all[1:], func(m *Meeting) error {
			defer m.Close()
			return m.Done(t.Context(), Outcome{Code: 0, Dir: "d"})
		}) {
			if err != nil {
				t.Error(err)
			}
		}
		if err := all[0].AwaitOthers(t.Context()); err != nil || all[0].Err() != nil {
			t.Errorf("the others are done: %v, %v", err, all[0].Err())
		}
		all[0].Close()
	})
}

func TestWhoDoesNotFitIsRefused(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"another seed", func(c *Config) { c.Plan.Seed = 8 }, []string{"share 1/3 differs from the plan", "seed: 7 in the plan, 8 here"}},
		{"other servers", func(c *Config) { c.Plan.Servers = []string{"a:1"} }, []string{"servers: a:1,b:2 in the plan, a:1 here"}},
		{"another profile", func(c *Config) { c.Plan.Profile = "name: p\nseed: 8\n" }, []string{`profile: "seed: 7" only in the plan`, `profile: "seed: 8" only here`}},
		{"another version", func(c *Config) { c.Plan.Version = "old" }, []string{"version: test in the plan, old here"}},
		{"another root", func(c *Config) { c.RootChosen, c.Plan.Root = true, "/mine" }, []string{"root: /zkbench/r1 in the plan, /mine here"}},
		{"a share that is taken", func(c *Config) { c.Share.Index = 1 }, []string{"share 2/3 is taken by", "pid"}},
	} {
		t.Run(strings.ReplaceAll(test.name, " ", "-"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := zktest.New(zktest.Config{})
				var first sync.WaitGroup
				first.Go(func() {
					cfg := config(e, 1)
					cfg.MeetTimeout = 2 * time.Second
					if _, err := Join(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "shares 1, 3 of 3 did not arrive within 2s") {
						t.Errorf("the first share: %v", err)
					}
				})
				time.Sleep(time.Second)
				cfg := config(e, 0)
				test.change(&cfg)
				_, err := Join(t.Context(), cfg)
				for _, want := range test.want {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("got %v, want %q in it", err, want)
					}
				}
				first.Wait()
				if n := len(e.Sessions()); n != 0 {
					t.Errorf("%d sessions are left open", n)
				}
			})
		})
	}
}

func TestAPathServesOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := zktest.New(zktest.Config{})
		all := gathered(t, e, nil)
		everyone(all[:], func(m *Meeting) error { return m.Await(t.Context(), 1, "ready") })
		everyone(all[:], func(m *Meeting) error {
			defer m.Close()
			return m.Done(t.Context(), Outcome{})
		})
		if _, err := Join(t.Context(), config(e, 0)); err == nil || !strings.Contains(err.Error(), "has already started") {
			t.Errorf("a share joined a run that is over: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e := zktest.New(zktest.Config{})
		all := gathered(t, e, nil)
		all[2].Stop(t.Context(), Interrupt, "interrupted")
		everyone(all[:], func(m *Meeting) error { m.Close(); return nil })
		if _, err := Join(t.Context(), config(e, 0)); err == nil || !strings.Contains(err.Error(), "was ended by share 3") {
			t.Errorf("a share joined a run that was stopped: %v", err)
		}
	})
}

func TestOneStopsAll(t *testing.T) {
	for cause, want := range map[Cause]error{Interrupt: ErrInterrupted, Failure: ErrFailed, Loss: ErrLost} {
		t.Run(string(cause), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := zktest.New(zktest.Config{})
				all := gathered(t, e, nil)
				go func() {
					time.Sleep(time.Second)
					all[2].Stop(t.Context(), cause, "enough")
				}()
				for _, err := range everyone(all[:2], func(m *Meeting) error { return m.Await(t.Context(), 1, "ready") }) {
					if !errors.Is(err, want) {
						t.Errorf("waiting ended with %v, want %v", err, want)
					}
				}
				for _, m := range all {
					<-m.Ended()
					m.Close()
				}
			})
		})
	}
}

// A share whose process has ended is detected when its session has expired, before the load and during it.
func TestALostShareIsNoticed(t *testing.T) {
	for _, finish := range []bool{false, true} {
		t.Run(fmt.Sprintf("finish=%v", finish), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := zktest.New(zktest.Config{})
				all := gathered(t, e, func(c *Config) { c.Finish = finish })
				e.Partition(e.Sessions()[0])
				errs := everyone(all[:], func(m *Meeting) error { return m.Await(t.Context(), 1, "ready") })
				lost, cut := 0, 0
				for i, err := range errs {
					switch {
					case errors.Is(err, ErrLost):
						lost++
					case !errors.Is(err, ErrCoordinator):
						t.Errorf("share %d: %v", i+1, err)
					}
				}
				synctest.Wait()
				for _, m := range all {
					select {
					case <-m.Ended():
						cut++
					default:
					}
				}
				if want := map[bool]int{true: 0, false: 2}[finish]; lost != 2 || cut != want {
					t.Errorf("%d shares learnt of the loss, want 2; %d cut their load, want %d", lost, cut, want)
				}
				for _, m := range all {
					m.Close()
				}
			})
		})
	}
}

func TestALostCoordinatorCutsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := zktest.New(zktest.Config{})
		all := gathered(t, e, nil)
		for _, s := range e.Sessions() {
			e.Partition(s)
		}
		for _, err := range everyone(all[:], func(m *Meeting) error { return m.Await(t.Context(), 1, "ready") }) {
			if !errors.Is(err, ErrCoordinator) {
				t.Errorf("waiting ended with %v, want %v", err, ErrCoordinator)
			}
		}
		for _, m := range all {
			select {
			case <-m.Ended():
				t.Error("the load is to be cut")
			default:
			}
			m.Close()
		}
	})
}

func TestTheMeetingKnowsItsEnsemble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, other := zktest.New(zktest.Config{}), zktest.New(zktest.Config{})
		all := gathered(t, e, nil)
		for ensemble, want := range map[*zktest.Ensemble]bool{e: true, other: false} {
			s := ensemble.Dial()
			if got, err := all[0].MeetsOn(t.Context(), s); err != nil || got != want {
				t.Errorf("MeetsOn = %v, %v, want %v", got, err, want)
			}
			s.Close()
		}
		for _, m := range all {
			m.Close()
		}
	})
}

// The coordinator may be started together with the shares.
func TestTheCoordinatorMayComeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, begun := zktest.New(zktest.Config{}), time.Now()
		refused := errors.New("connection refused")
		late := func(c *Config) {
			c.Dial = func(context.Context) (zk.Session, error) {
				if time.Since(begun) < 20*time.Second {
					return nil, refused
				}
				return e.Dial(), nil
			}
		}
		for _, m := range gathered(t, e, late) {
			m.Close()
		}
		cfg := config(e, 0)
		cfg.Dial = func(context.Context) (zk.Session, error) { return nil, refused }
		if _, err := Join(t.Context(), cfg); !errors.Is(err, refused) {
			t.Errorf("Join() = %v, want %v", err, refused)
		}
	})
}
