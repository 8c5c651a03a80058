package proxy

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
)

// Point is the point on a frame's way at which a rule applies.
type Point int

// The points.
const (
	Request      Point = iota // a request, before it goes to the server
	Reply                     // the reply of a request, before it goes to the client
	Notification              // a watch event, before it goes to the client
	ToServer                  // everything sent to the server, including pings, handshakes and the end of the connection
	ToClient                  // the same for the client
)

func (p Point) String() string {
	return [...]string{"request", "reply", "notification", "to the server", "to the client"}[p]
}

// Action is what a rule does to a frame.
type Action int

// The actions.
const (
	// Cut closes the connection on both sides instead of forwarding the frame. Everything before it has been forwarded.
	Cut Action = iota
	// Reset is like Cut, but both sides see a reset connection (RST).
	Reset
	// Hold keeps the frame until the fault is removed. Everything behind it waits too, as behind a lost packet. A rule
	// on Notification instead holds notifications aside, and later replies overtake them. The held notifications keep their
	// order, and later ones overtake them only while the fault is active and does not take these.
	Hold
	// Delay is Hold for a fixed time.
	Delay
	// Repeat forwards the frame and Copies more of it.
	Repeat
	// Drop discards the frame. The connection continues.
	Drop
)

// Rule says which frames a fault is injected into, and how. The zero value cuts the connection at every request.
type Rule struct {
	On Point

	// What must match. The zero value of each field matches everything, except that no Ops means every operation but Ping and Connect,
	// so that the count of matches does not depend on time. ToServer and ToClient use only Server and Session.
	Server  int       // number of the server, from 1
	Session int64     // id of the session
	Ops     []jute.Op // not for a Notification
	Path    *regexp.Regexp

	Skip  int // number of matching frames to let pass first
	Times int // number of injections; 0 means unlimited

	Do     Action
	For    time.Duration // for Delay; for Hold the time after which the fault removes itself, 0 for never
	Copies int           // for Repeat

	// Notify, if not nil, is called before the action, from the goroutine that reads the connection: what follows the frame
	// waits until it returns.
	Notify func(Frame)
}

// matches reports whether the rule applies to f.
func (r *Rule) matches(f Frame) bool {
	if r.Server != 0 && r.Server != f.Server || r.Session != 0 && r.Session != f.Session {
		return false
	}
	switch r.On {
	case ToServer:
		return f.On == Request
	case ToClient:
		return f.On != Request
	case f.On:
	default:
		return false
	}
	if f.On != Notification {
		if len(r.Ops) > 0 && !slices.Contains(r.Ops, f.Op) || len(r.Ops) == 0 && (f.Op == jute.OpPing || f.Op == jute.OpConnect) {
			return false
		}
	}
	return r.Path == nil || r.Path.MatchString(f.Path)
}

// aside reports whether other frames overtake those that the rule keeps.
func (r *Rule) aside() bool { return r.On == Notification && (r.Do == Hold || r.Do == Delay) }

// Fault is an active rule.
type Fault struct {
	rule    Rule
	proxy   *Proxy
	removed chan struct{}
	remove  *time.Timer // removes a Hold with a time limit; nil for others

	mu       sync.Mutex
	seen     int // matching frames
	claimed  int // matching frames that the fault takes
	injected int // taken frames whose action has been executed
	waiting  []waiter
}

type waiter struct {
	n    int
	done chan struct{}
}

// Add activates a rule. If several rules match a frame, the one added first applies.
func (p *Proxy) Add(r Rule) *Fault { return p.add(-1, r) }

// add inserts a rule before all others for 0, or after them for -1.
func (p *Proxy) add(at int, r Rule) *Fault {
	f := &Fault{rule: r, proxy: p, removed: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if at < 0 {
		at = len(p.faults)
	}
	p.faults = slices.Insert(p.faults, at, f)
	if r.Do == Hold && r.For > 0 {
		f.remove = time.AfterFunc(r.For, f.Remove)
	}
	return f
}

// Remove ends the fault: it takes no more frames, and releases those that it holds. It may be called more than once.
func (f *Fault) Remove() {
	f.proxy.mu.Lock()
	defer f.proxy.mu.Unlock()
	if i := slices.Index(f.proxy.faults, f); i >= 0 {
		f.proxy.faults = slices.Delete(f.proxy.faults, i, i+1)
		close(f.removed)
		if f.remove != nil {
			f.remove.Stop()
		}
	}
}

// Injected returns how many frames the fault was injected into. A frame counts once the action has been executed: the connection is closed, or the
// frame is held, delayed, repeated or dropped.
func (f *Fault) Injected() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.injected
}

// Wait waits until the fault has been injected n times.
func (f *Fault) Wait(ctx context.Context, n int) error {
	f.mu.Lock()
	if f.injected >= n {
		f.mu.Unlock()
		return nil
	}
	w := waiter{n, make(chan struct{})}
	f.waiting = append(f.waiting, w)
	f.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("proxy: the fault was injected %d times, not %d: %w", f.Injected(), n, ctx.Err())
	}
}

// claim reports whether the fault takes a frame.
func (f *Fault) claim(fr Frame) bool {
	if !f.rule.matches(fr) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	if f.seen <= f.rule.Skip || f.rule.Times > 0 && f.claimed == f.rule.Times {
		return false
	}
	f.claimed++
	return true
}

// count counts a frame whose action has been executed.
func (f *Fault) count() { f.execute(func() {}) }

// execute carries out the action on a frame. Whoever notices it and asks for the count gets one that has this frame in it.
func (f *Fault) execute(action func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	action()
	f.injected++
	f.waiting = slices.DeleteFunc(f.waiting, func(w waiter) bool {
		if f.injected >= w.n {
			close(w.done)
		}
		return f.injected >= w.n
	})
}

// decide returns the fault that takes a frame, nil for none.
func (p *Proxy) decide(fr Frame) *Fault {
	p.mu.Lock()
	faults := slices.Clone(p.faults)
	p.mu.Unlock()
	for _, f := range faults {
		if f.claim(fr) {
			return f
		}
	}
	return nil
}

// partition returns the fault that holds everything in one direction of a connection.
func (p *Proxy) partition(fr Frame) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		if f.rule.Do == Hold && f.rule.On >= ToServer && f.rule.matches(fr) {
			return f
		}
	}
	return nil
}
