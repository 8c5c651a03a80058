package published

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// settle returns when the attempt is over or nothing moves any more; nil waits for the latter alone.
//
// Nothing moves any more when neither a request of a client nor an event has come for a silence, and each live client's own connection
// has then answered a sync: replies and events of a connection arrive in the order in which its server sent them, so whatever the
// servers had to say to the client until then has come, and it did nothing about it.
func (t *trial) settle(a *attempt) {
	made := int64(0)
	for begun, silences := time.Now(), 1; !t.over(); silences++ {
		moved := t.moves.Load()
		if t.listen(a) {
			return
		}
		t.sync()
		n := t.moves.Load() - moved
		made += n
		switch {
		case n == 0:
			return
		case silences >= 3 && made >= restless:
			t.found(Rest, "%d requests in %v though nothing changes, without an end: %s", made, time.Since(begun).Round(silence), t.state())
			return
		case time.Since(begun) > patience:
			t.fail(fmt.Errorf("%w: still moving after %v", errNotStaged, patience))
		}
	}
}

// listen waits for a silence, or until the attempt is over, which it reports.
func (t *trial) listen(a *attempt) (over bool) {
	var done <-chan struct{}
	if a != nil {
		done = a.done
	}
	timer := time.NewTimer(silence)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-t.ctx.Done():
		t.fail(t.ctx.Err())
	case <-timer.C:
	}
	return false
}

// sync asks on the connection of each live client.
func (t *trial) sync() {
	for _, h := range t.handles {
		if h.gone.Load() {
			continue
		}
		if err := h.session.Sync(t.ctx, "/"); err != nil && h.session.Err() == nil {
			t.fail(err)
		}
	}
}

// look waits until nothing moves any more and judges the state: of locks and semaphores, path by path; of a double barrier; of a two-phase commit.
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
	if t.over() {
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
		t.found(Exclusion, "%d hold at once: %s", len(holders), t.state())
		return
	}
	for _, w := range waiters {
		there, err := t.placed(w)
		switch {
		case err != nil:
			t.fail(err)
		case t.subject.own && len(holders) > 0 && w.znode() == "": // a lock of another kind may have no znode for those that wait
		case !there:
			t.found(Liveness, "%s waits and has no znode: %s", w.name, t.state())
		case len(holders) == 0:
			t.found(Liveness, "nobody holds: %s", t.state())
		case len(holders) < t.subject.permits:
			t.found(Liveness, "only %d of %d permits are held: %s", len(holders), t.subject.permits, t.state())
		}
	}
}

// placed reports whether the znode of a waiter is there.
func (t *trial) placed(w *handle) (bool, error) {
	z := w.znode()
	if z == "" {
		return false, nil
	}
	if err := zk.CatchUp(t.ctx, t.admin, z); err != nil && zk.Classify(err) != zk.ClassDefiniteNo {
		return false, err
	}
	_, there, err := t.admin.Exists(t.ctx, z)
	return there, err
}

// state tells who does what, and what the servers list.
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
