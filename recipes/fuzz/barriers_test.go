package fuzz_test

import (
	"context"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// barrierGame lets all clients set, remove and wait. The referee knows from the servers whether the barrier was set.
func barrierGame(v recipes.Variant[recipes.Barrier]) game {
	return game{"barrier/" + v.Name, func(w *world) player {
		o := recipes.Options{Watch: choose(w, v.Watch)}
		var mu sync.Mutex
		down, set := time.Now(), false // when it was last not set
		removals, calls := map[*zktest.Session]int{}, map[*zktest.Session]int{}
		w.watchers = append(w.watchers, func(op zktest.Op) {
			if op.Err != nil || op.Path != dir {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			switch op.Kind {
			case zk.KindCreate:
				set, down = true, time.Now()
			case zk.KindDelete:
				set = false
				removals[op.Session]++
			}
		})
		w.set.shared, w.written = false, true
		return &locker[recipes.Barrier]{
			make: func(c *client, s zk.Session) recipes.Barrier { return v.New(s, dir, o) },
			use: func(c *client, b recipes.Barrier) {
				s := c.s
				ctx, cancel := c.ctx()
				defer cancel()
				began := time.Now()
				switch n := c.rng.IntN(4); {
				case n == 0:
					c.excused("set", ctx, s, b.Set(ctx))
				case n == 1 || !c.stormy():
					mu.Lock()
					calls[s]++
					mu.Unlock()
					err := b.Remove(ctx)
					mu.Lock()
					if removals[s] > calls[s] { // a delete may be applied after its call has returned
						c.problemf("client %d: %d calls of Remove() have removed %d barriers", c.id, calls[s], removals[s])
					}
					mu.Unlock()
					c.excused("remove", ctx, s, err, recipes.ErrNotSet, recipes.ErrInDoubt)
				default:
					err := b.Wait(ctx)
					mu.Lock()
					early := err == nil && set && down.Before(began)
					mu.Unlock()
					if early {
						c.problemf("client %d has passed a barrier that was set all the time", c.id)
					}
					c.excused("wait", ctx, s, err)
				}
			},
			end: func(w *world) {
				b := v.New(w.ens.Dial(), dir, o)
				b.Remove(context.Background())
				ctx, cancel := context.WithTimeout(context.Background(), patient)
				defer cancel()
				if err := b.Wait(ctx); err != nil {
					w.problemf("wait at the end: %v", err)
				}
			},
		}
	}}
}

// meetings runs generations of a double barrier or a rendezvous.
type meetings struct {
	w       *world
	members int
	mu      sync.Mutex
	most    map[string]int // by room: the most members that were in it at the same time
	next    []int64        // by client
	inside  []int64        // by client: the generation that it is inside of and has not started to leave; -1: none
	held    []*zktest.Session
	make    func(c *client, s zk.Session, generation int64) meeting
	last    int64 // the generation that all must get through in the end
}

// meeting is one handle.
type meeting interface {
	enter(ctx context.Context) error
	leave(ctx context.Context) error
	generation() int64
}

type gate struct{ recipes.DoubleBarrier }

func (g gate) enter(ctx context.Context) error { return g.Enter(ctx) }
func (g gate) leave(ctx context.Context) error { return g.Leave(ctx) }
func (g gate) generation() int64               { return g.Generation() }

type spot struct{ recipes.Rendezvous }

func (r spot) enter(ctx context.Context) error { return r.Meet(ctx) }
func (r spot) leave(context.Context) error     { return nil }
func (r spot) generation() int64               { return r.Generation() }

func doubleBarrierGame(v recipes.Variant[recipes.DoubleBarrier]) game {
	return game{"double-barrier/" + v.Name, func(w *world) player {
		o := recipes.Options{Watch: choose(w, v.Watch), Members: w.set.clients}
		return newMeetings(w, func(c *client, s zk.Session, generation int64) meeting {
			o := o
			o.Generation = generation
			return gate{v.New(s, dir, o)}
		})
	}}
}

func rendezvousGame(v recipes.Variant[recipes.Rendezvous]) game {
	return game{"rendezvous/" + v.Name, func(w *world) player {
		o := recipes.Options{Watch: choose(w, v.Watch), Members: w.set.clients}
		return newMeetings(w, func(c *client, s zk.Session, generation int64) meeting {
			o := o
			o.Generation = generation
			return spot{v.New(s, dir, o)}
		})
	}}
}

func newMeetings(w *world, make_ func(*client, zk.Session, int64) meeting) *meetings {
	m := &meetings{w: w, most: map[string]int{}, members: w.set.clients, make: make_}
	for range w.set.clients {
		m.next, m.inside, m.held = append(m.next, 0), append(m.inside, -1), append(m.held, nil)
	}
	w.watchers = append(w.watchers, func(op zktest.Op) { m.opened(op) })
	return m
}

// opened checks, when the marker of a generation is created, that all members were there at one instant. Some may have died since.
func (m *meetings) opened(op zktest.Op) {
	if op.Err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range op.Ops {
		if o.Kind != zk.KindCreate {
			continue
		}
		room, name := path.Split(o.Path)
		if name != "ready" && name != "start" {
			n := 0
			for other := range m.w.ens.Tree() {
				if in, name := path.Split(other); in == room && len(name) == 32 {
					n++
				}
			}
			m.most[room] = max(m.most[room], n)
			continue
		}
		m.w.notef("%s is created, %d members have been there", o.Path, m.most[room])
		if m.most[room] < m.members {
			m.w.problemf("%s is created, but only %d of %d members have been there", o.Path, m.most[room], m.members)
		}
	}
}

func (m *meetings) step(c *client) { m.round(c) }

// round attempts one generation of a client, and reports whether the client got through.
func (m *meetings) round(c *client) bool {
	s, fresh := c.session()
	if fresh || c.own == nil {
		c.own = m.make(c, s, m.next[c.id])
	}
	b := c.own.(meeting)
	ctx, cancel := c.ctx()
	defer cancel()
	err := b.enter(ctx)
	m.now(c, b)
	if err != nil {
		c.excused("enter", ctx, s, err, recipes.ErrBarrierBroken, recipes.ErrPassed, recipes.ErrInDoubt)
		return false
	}
	_, double := b.(gate)
	generation := b.generation()
	c.notef("is in generation %d", generation)
	if !double {
		return true
	}
	be := func(in int64) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.inside[c.id], m.held[c.id] = in, s
	}
	be(generation)
	c.rest(c.hold())
	be(-1)
	end, cancelEnd := c.endCtx()
	defer cancelEnd()
	err = b.leave(end)
	m.now(c, b)
	c.notef("has left generation %d: %v", generation, err)
	m.mu.Lock()
	for id, in := range m.inside {
		if err == nil && in == generation && m.held[id].Err() == nil && !c.expired(m.held[id]) {
			c.problemf("client %d has left generation %d, and client %d is inside", c.id, generation, id)
		}
	}
	m.mu.Unlock()
	c.excused("leave", end, s, err, recipes.ErrMemberLost)
	return err == nil
}

// prove lets all clients get through three more generations.
func (m *meetings) prove(c *client) {
	m.mu.Lock()
	if m.last == 0 {
		m.last = slices.Max(m.next) + 3
	}
	m.mu.Unlock()
	for begun := time.Now(); m.next[c.id] < m.last; {
		m.round(c)
		if time.Since(begun) > 20*patient {
			c.problemf("client %d does not get through generation %d", c.id, m.next[c.id])
			return
		}
	}
}

// now records which generation a client is in, or enters next.
func (m *meetings) now(c *client, b meeting) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next[c.id] = b.generation()
}

func (m *meetings) check(*world) {}
