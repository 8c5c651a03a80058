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

// Point is where on the way of a frame a rule waits for it.
type Point int

// The points.
const (
	Request      Point = iota // a request, before it goes to the server
	Reply                     // the reply of a request, before it goes to the client
	Notification              // a watch event, before it goes to the client
	ToServer                  // everything to the server, pings, handshakes and the end of the connection included
	ToClient                  // everything to the client, likewise
)

func (p Point) String() string {
	return [...]string{"request", "reply", "notification", "to the server", "to the client"}[p]
}

// Action is what a rule does to a frame.
type Action int

// The actions.
const (
	// Cut closes the connection on both sides instead of passing the frame on. What came before it has been passed on.
	Cut Action = iota
	// Reset is Cut, and both sides see a reset connection (RST).
	Reset
	// Hold keeps the frame until the fault is removed. Everything behind it waits too, as behind a lost packet; but
	// notifications are held aside by a rule on Notification, and later replies overtake them. Those that it holds stay in their
	// order, and later ones overtake them only while the fault is at work and does not take them.
	Hold
	// Delay is Hold for a time.
	Delay
	// Repeat passes the frame on and Copies more of it.
	Repeat
	// Drop lets the frame vanish. The connection goes on.
	Drop
)

// Rule says which frames a fault is injected into, and how. The zero value cuts the connection at every request.
type Rule struct {
	On Point

	// What must match. The zero value of each matches everything, except that no Ops means every operation but Ping and Connect,
	// so that the count of matches does not depend on time. ToServer and ToClient look at Server and Session only.
	Server  int       // number of the server, from 1
	Session int64     // id of the session
	Ops     []jute.Op // not of a Notification
	Path    *regexp.Regexp

	Skip  int // let so many matching frames pass first
	Times int // so many times, then no more; 0 means forever

	Do     Action
	For    time.Duration // of Delay; of Hold the time after which the fault removes itself, 0 for never
	Copies int           // of Repeat

	// Notify, if not nil, is called before the action, from the goroutine that reads the connection: what comes behind the frame
	// waits until it returns.
	Notify func(Frame)
}

// matches reports whether the rule is about f.
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

// aside reports whether the frames that the rule keeps are overtaken by others.
func (r *Rule) aside() bool { return r.On == Notification && (r.Do == Hold || r.Do == Delay) }

// Fault is a rule at work.
type Fault struct {
	rule    Rule
	proxy   *Proxy
	removed chan struct{}
	remove  *time.Timer // removes a Hold that has a time; nil for none

	mu       sync.Mutex
	seen     int // matching frames
	claimed  int // of them, those that it takes
	injected int // of them, those whose action has been taken
	waiting  []waiter
}

type waiter struct {
	n    int
	done chan struct{}
}

// Add puts a rule to work. Of several that match a frame, the one added first counts.
func (p *Proxy) Add(r Rule) *Fault { return p.add(-1, r) }

// add puts a rule at the front of all for 0, at the end for -1.
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

// Remove ends the fault: it takes no more frames, and what it holds goes on its way. It may be called more than once.
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

// Injected is how many frames the fault was injected into. A frame counts when the action has been taken: the connection is closed, the
// frame is held, delayed, repeated or gone.
func (f *Fault) Injected() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.injected
}

// Wait waits until the fault was injected n times.
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

// count counts a frame whose action has been taken.
func (f *Fault) count() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.injected++
	f.waiting = slices.DeleteFunc(f.waiting, func(w waiter) bool {
		if f.injected >= w.n {
			close(w.done)
		}
		return f.injected >= w.n
	})
}

// decide finds the fault that takes a frame, nil for none.
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

// partition finds the fault that holds everything of a direction of a connection.
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
