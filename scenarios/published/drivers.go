package published

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/zk"
)

// The drivers of ZooKeeper's own recipes, which are reproduced as zookeeper-writelock and zookeeper-leader-election-support. They pass on only what the
// listener of the recipe is told.
const (
	RealLock     = "driver:zookeeper-recipes listener"
	RealElection = "driver:zookeeper-recipes election listener"
)

// Real says what the published code itself does, in the scenarios that can be staged for a driver: those without a second handle or a second call of a session,
// and without points that only a reproduction has.
var Real = scenarios.Trials([]expectation{
	{RealLock, Liveness, "predecessor-vanishes middle-vanishes lost-create-reply lost-create-given-up lost-delete waiter-deleted interrupted"},
	{RealLock, None, "plain-release middle-dies lost-delete-reply holder-deleted foreign-zero foreign-text predecessor-data"},
	{RealElection, Liveness, "predecessor-vanishes middle-vanishes lost-create-reply lost-create-given-up waiter-deleted predecessor-data foreign-zero foreign-text no-directory"},
	{RealElection, Exclusion, "holder-expires"},
	{RealElection, None, "plain-release middle-dies interrupted lost-delete-reply"},
})

// realSubject returns the subject of a trial of Real. Its field byDriver is false for any other name.
func realSubject(name string) subject {
	of := subject{name: name, byDriver: strings.HasPrefix(name, "driver:"), permits: 1, control: Control,
		lock: func(s zk.Session, path string, o recipes.Options) recipes.Lock { return drivers.NewLock(s, path, o) }}
	if name == RealElection {
		of.control = ElectionControl
	}
	return of
}

// Drivers starts the drivers of Real, one process for each, when a trial needs it. Their sessions go through a proxy, which shows what they send and receive.
type Drivers struct {
	Proxy *proxy.Proxy
	// Open opens a session of zkbench's own at these addresses.
	Open func(ctx context.Context, addresses []string) (zk.Session, error)
	// Find returns the command of a driver; nil is drivers.Find.
	Find func(program string) ([]string, error)

	mu      sync.Mutex
	running map[string]*drivers.Process
}

// sessionTimeout is that of a driver's sessions. No scenario waits for it.
const sessionTimeout = 20 * time.Second

func (d *Drivers) dial(ctx context.Context, variant string) (zk.Session, error) {
	p, err := d.process(ctx, variant)
	if err != nil {
		return nil, err
	}
	return p.Open(ctx, d.Proxy.Addresses(), sessionTimeout)
}

func (d *Drivers) process(ctx context.Context, variant string) (*drivers.Process, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.running[variant]; p != nil {
		return p, nil
	}
	find := d.Find
	if find == nil {
		find = drivers.Find
	}
	command, err := find(strings.TrimPrefix(variant, "driver:"))
	if err != nil {
		return nil, err
	}
	p, err := drivers.Start(ctx, command)
	if err != nil {
		return nil, err
	}
	if d.running == nil {
		d.running = map[string]*drivers.Process{}
	}
	d.running[variant] = p
	return p, nil
}

func (d *Drivers) close() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.running {
		p.Close()
	}
	d.running = nil
}

// rest gives drivers two more silences to do something about what their sessions have been told: nothing shows that they have read it.
func (d *Drivers) rest(ctx context.Context) error {
	select {
	case <-time.After(2 * scenarios.Silence):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// observe has the proxy show the requests, replies and events of a driver's session, which zk.Observe cannot see.
func (h *handle) observe() {
	trace := h.t.Trace(func(*zk.Call) {})
	h.unobserve = h.t.drivers.Proxy.Observe(h.session.ID(), func(f proxy.Frame) {
		if f.Op == jute.OpPing && f.On != proxy.Notification {
			return
		}
		trace.Event(zk.Event{}) // something moves
		switch {
		case f.Op == jute.OpConnect && f.On == proxy.Reply && f.Err != 0:
			h.over.Do(func() { close(h.refused) })
		case f.On != proxy.Reply || f.Err != 0:
		case f.Created != "" && strings.HasPrefix(f.Created, h.path+"/"):
			h.mu.Lock()
			h.place = f.Created
			h.mu.Unlock()
		case (f.Op == jute.OpGetChildren || f.Op == jute.OpGetChildren2) && f.Path == h.path && h.hasPlace():
			h.pauseAt(recipes.PauseListed) // the reply waits
		}
	})
}

// catchUp has the client's server learn of all that has been done.
func (h *handle) catchUp() error {
	if h.t.subject.byDriver {
		return h.beside(func(s zk.Session) error { return zk.CatchUp(h.t.Context(), s, "/") })
	}
	return zk.CatchUp(h.t.Context(), h.session, "/")
}

// sync waits until the client's server has sent it all that it had to say, and for sessions of zkbench's own, until it has arrived.
func (h *handle) sync() error {
	if h.t.subject.byDriver {
		return h.catchUp()
	}
	return h.session.Sync(h.t.Context(), "/")
}

// beside does something with a session at the server of a driver's session, once that is connected.
func (h *handle) beside(do func(zk.Session) error) error {
	ctx, d := h.t.Context(), h.t.drivers
	for {
		for _, of := range d.Proxy.Sessions() {
			if of.ID == h.session.ID() && of.Connected {
				s, err := d.Open(ctx, []string{d.Proxy.Addresses()[of.Server-1]})
				if err != nil {
					return err
				}
				defer s.Close()
				return do(s)
			}
		}
		if h.gone.Load() || h.session.Err() != nil {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%s is not connected: %w", h.name, ctx.Err())
		}
	}
}
