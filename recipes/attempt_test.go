package recipes_test

import (
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// attempt is a call that may have to wait, in a goroutine of its own.
type attempt struct {
	grant recipes.Grant
	err   error
	done  chan struct{}
}

func begin(acquire func() (recipes.Grant, error)) *attempt {
	a := &attempt{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.grant, a.err = acquire()
	}()
	synctest.Wait()
	return a
}

func (a *attempt) state() string {
	select {
	case <-a.done:
		if a.err != nil {
			return "failed"
		}
		return "holds"
	default:
		return "waits"
	}
}

func expect(t *testing.T, what string, a *attempt, state string) {
	t.Helper()
	synctest.Wait()
	if got := a.state(); got != state {
		t.Fatalf("%s: the attempt %s (%v), want that it %s", what, got, a.err, state)
	}
}

// bubble runs a test on an ensemble in memory, closes what sessions are left, and looks for znodes that are.
func bubble(t *testing.T, name string, test func(*testing.T, *zktest.Ensemble)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			test(t, ens)
			for _, s := range ens.Sessions() {
				s.Close()
			}
			if left := ens.Ephemerals(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	})
}

// ok fails the test when err is not nil.
func ok(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// eventsOf is how many events the servers have sent.
func eventsOf(ens *zktest.Ensemble) int {
	n := 0
	for _, e := range ens.Counts().Events {
		n += e
	}
	return n
}

// requestsOf is how many operations the servers have carried out or refused.
func requestsOf(ens *zktest.Ensemble) int {
	n := 0
	for _, o := range ens.Counts().Ops {
		n += o
	}
	return n
}

// loseOnce makes the servers lose the first request of a kind, or the reply to it, on a path that the filter takes.
func loseOnce(ens *zktest.Ensemble, kind zk.Kind, applied bool, on func(path string) bool) (lost *bool) {
	lost = new(bool)
	ens.Hook(func(op zktest.Op) zktest.Action {
		if op.Kind != kind || op.Applied != applied || op.Err != nil || *lost || !on(op.Path) {
			return zktest.Action{}
		}
		*lost = true
		return zktest.Action{Lose: true}
	})
	return lost
}
