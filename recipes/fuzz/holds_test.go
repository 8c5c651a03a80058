package fuzz_test

import (
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/zk/zktest"
)

// hold is a grant of a client.
type hold struct {
	c     *client
	s     *zktest.Session
	what  string // kind of grant, if there are several; may be empty
	path  string // of its znode; empty if it has none to check
	token int64
	lost  []<-chan struct{}
	over  bool
	moves bool // it is being downgraded, which changes its znode
	r     *referee
}

// referee checks which clients hold at the same time.
type referee struct {
	w       *world
	name    string
	fits    func(holds []*hold) bool // whether these may be held together
	ordered bool                     // tokens grow from grant to grant
	mu      sync.Mutex               // guards the following fields, and over of the holds
	holds   []*hold
	last    int64
	forced  []string // paths of grants that were taken away
}

func alone(holds []*hold) bool { return len(holds) <= 1 }

func atMost(n int) func([]*hold) bool { return func(holds []*hold) bool { return len(holds) <= n } }

// isLost reports whether the hold has ended or is gone. The referee must be locked.
func (h *hold) isLost() bool { return h.over || h.gone() }

func (h *hold) isOver() bool {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	return h.over
}

func (h *hold) finish() {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	h.over = true
}

// gone reports whether the holder knows that it does not hold any more, or its session has expired.
func (h *hold) gone() bool { return h.c.expired(h.s) || h.notified() }

// notified reports whether the holder knows that it does not hold any more.
func (h *hold) notified() bool {
	for _, lost := range h.lost {
		select {
		case <-lost:
			return true
		default:
		}
	}
	return false
}

// begin records a grant.
func (r *referee) begin(h *hold) *hold {
	defer h.verify()
	return r.add(h)
}

func (r *referee) add(h *hold) *hold {
	r.mu.Lock()
	defer r.mu.Unlock()
	h.r = r
	h.over = slices.Contains(r.forced, h.path)
	h.c.notef("%s: granted %s %s %#x", r.name, h.what, h.path, h.token)
	r.holds = slices.DeleteFunc(append(r.holds, h), (*hold).isLost)
	if !r.fits(r.holds) {
		var all []string
		for _, other := range r.holds {
			all = append(all, other.what+" "+other.path)
		}
		r.w.problemf("%s: held at once: %v", r.name, all)
	}
	if r.ordered && h.token <= r.last {
		r.w.problemf("%s: token %#x after %#x", r.name, h.token, r.last)
	}
	r.last = max(r.last, h.token)
	return h
}

// taken records that somebody may revoke a grant by force.
func (r *referee) taken(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.holds {
		h.over = h.over || h.path == path || h.moves
	}
	r.forced = append(r.forced, path)
	return true
}

// verify checks that the znode of a grant that is not lost exists and is the same.
func (h *hold) verify() {
	if h.path == "" || h.isOver() {
		return
	}
	z, there := h.c.ens.Tree()[h.path]
	if there && (h.token == 0 || z.Stat.Czxid == h.token) && z.Stat.EphemeralOwner == h.s.ID() {
		return
	}
	time.Sleep(time.Microsecond) // the loss may be reported at the same instant
	if !h.isOver() && !h.gone() {
		h.c.problemf("client %d holds %s (%#x), whose znode is gone, and has not been told", h.c.id, h.path, h.token)
	}
}

// end records that the client is about to release, and reports whether the grant was lost.
func (h *hold) end() (lost bool) {
	h.verify()
	lost = h.isOver() || h.gone()
	h.finish()
	h.c.notef("gives up %s", h.path)
	return lost
}

// is changes the kind of the hold.
func (h *hold) is(what string) {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	h.what, h.moves = what, what == "read"
}
