package published

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/zk"
)

// settle returns when the attempt is over or nothing moves any more.
func (t *trial) settle(a *scenarios.Attempt) {
	t.Settle(a, t.sync, func(requests int64, in time.Duration) {
		t.Found(Rest, "%d requests in %v though nothing changes, without an end: %s", requests, in, t.state())
	})
}

// sync sends a sync on the connection of each live client.
func (t *trial) sync() error {
	for _, h := range t.handles {
		if h.gone.Load() {
			continue
		}
		if err := h.sync(); err != nil && h.session.Err() == nil {
			return err
		}
	}
	if t.subject.byDriver {
		return t.drivers.rest(t.Context())
	}
	return nil
}

// look waits until nothing moves any more and judges the state: for locks and semaphores, path by path; for a double barrier; for a two-phase commit.
func (t *trial) look() {
	t.settle(nil)
	var paths []string
	for _, h := range t.handles {
		if !slices.Contains(paths, h.path) {
			paths = append(paths, h.path)
			t.judge(h.path)
		}
	}
	t.judgeMembers()
	t.judgeSites()
}

func (t *trial) judge(path string) {
	if t.Over() {
		return
	}
	var holders, waiters []*handle
	for _, h := range t.handles {
		switch {
		case h.path != path:
		case h.holds():
			holders = append(holders, h)
		case h.waits():
			waiters = append(waiters, h)
		}
	}
	if len(holders) > t.subject.permits {
		t.Found(Exclusion, "%d hold at once: %s", len(holders), t.state())
		return
	}
	for _, w := range waiters {
		there, err := t.placed(w)
		switch {
		case err != nil:
			t.Fail(err)
		case t.subject.own && len(holders) > 0 && w.znode() == "": // waiters of a foreign lock may have no znode
		case !there:
			t.Found(Liveness, "%s waits and has no znode: %s", w.name, t.state())
		case len(holders) == 0:
			t.Found(Liveness, "nobody holds: %s", t.state())
		case len(holders) < t.subject.permits:
			t.Found(Liveness, "only %d of %d permits are held: %s", len(holders), t.subject.permits, t.state())
		}
	}
}

// placed reports whether the znode of a waiter exists.
func (t *trial) placed(w *handle) (bool, error) {
	z := w.znode()
	if z == "" {
		return false, nil
	}
	if err := zk.CatchUp(t.Context(), t.admin, z); err != nil && zk.Classify(err) != zk.ClassDefiniteNo {
		return false, err
	}
	_, there, err := t.admin.Exists(t.Context(), z)
	return there, err
}

// state describes what each client does, and which znodes the servers list.
func (t *trial) state() string {
	var clients, dirs, lists []string
	for _, h := range t.handles {
		does := "holds"
		if h.waits() {
			does = "waits"
		} else if !h.holds() {
			continue
		}
		znode, dir := "no znode", h.path
		if z := h.znode(); z != "" {
			dir = parent(z)
			znode = short(z[len(dir)+1:])
		}
		clients = append(clients, fmt.Sprintf("%s %s with %s", h.name, does, znode))
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
			lists = append(lists, t.listed(dir))
		}
	}
	return strings.Join(clients, ", ") + "; listed: " + strings.Join(lists, "; ")
}
