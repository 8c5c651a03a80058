package bubble

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// LoseOnce makes the servers lose the first request of a kind, or the reply to it, on a path that the filter takes.
func LoseOnce(ens *zktest.Ensemble, kind zk.Kind, applied bool, on func(path string) bool) (lost *bool) {
	lost = new(bool)
	var taken atomic.Bool // several sessions may make such a request concurrently
	ens.Hook(func(op zktest.Op) zktest.Action {
		if op.Kind != kind || op.Applied != applied || op.Err != nil || !on(op.Path) || !taken.CompareAndSwap(false, true) {
			return zktest.Action{}
		}
		*lost = true
		return zktest.Action{Lose: true}
	})
	return lost
}

// LateReply delays the reply to the first request of a kind on such a path until the next connection, when the lease that it was made under has ended.
func LateReply(ens *zktest.Ensemble, s zk.Session, kind zk.Kind, below string) {
	var once sync.Once
	ens.Hook(func(op zktest.Op) zktest.Action {
		if op.Session == s && op.Kind == kind && strings.Contains(op.Path, below) && !op.Applied {
			once.Do(func() {
				ens.Partition(s)
				time.AfterFunc(s.Timeout()*19/20, func() { ens.Reconnect(s) })
			})
		}
		return zktest.Action{}
	})
}

// Stopped returns options that stop a member at a pause point until goOn is called.
func Stopped(point string) (o recipes.Options, goOn func()) {
	gate := make(chan struct{})
	return At(point, func() { <-gate }), func() { close(gate) }
}

// AfterDelete calls do when a delete at or below the path has been carried out, and loses its reply: do may take the name in the meantime. It happens once.
func AfterDelete(ens *zktest.Ensemble, s *zktest.Session, path string, do func()) (happened *bool) {
	happened = new(bool)
	ens.Hook(func(op zktest.Op) zktest.Action {
		if op.Kind != zk.KindDelete || !op.Applied || op.Err != nil || op.Session != s || !Below(op.Path, path) || *happened {
			return zktest.Action{}
		}
		*happened = true
		do()
		return zktest.Action{Lose: true}
	})
	return happened
}

// Below reports whether a path begins with another.
func Below(path, root string) bool {
	return len(path) >= len(root) && path[:len(root)] == root
}

// CutAfterCreate loses the reply to the first create below a path together with the connection, which comes back after 5 s.
func CutAfterCreate(ens *zktest.Ensemble, s *zktest.Session, path string) (happened *bool) {
	happened = new(bool)
	ens.Hook(func(op zktest.Op) zktest.Action {
		if op.Session == s && op.Kind == zk.KindCreate && op.Applied && op.Err == nil && Below(op.Path, path) && !*happened {
			*happened = true
			ens.Disconnect(s)
			time.AfterFunc(5*time.Second, func() { ens.Reconnect(s) })
		}
		return zktest.Action{}
	})
	return happened
}

// At stages a race: do runs once, when an acquisition reaches the pause point.
func At(point string, do func()) recipes.Options {
	var done atomic.Bool
	return recipes.Options{Trace: &recipes.Trace{Pause: func(p string) {
		if p == point && done.CompareAndSwap(false, true) {
			do()
		}
	}}}
}

// Outage keeps a session without a server until its lease has ended, and reconnects it while the servers still know it.
func Outage(ens *zktest.Ensemble, s zk.Session) {
	ens.Disconnect(s)
	time.Sleep(s.Timeout() * 19 / 20)
	ens.Reconnect(s)
}
