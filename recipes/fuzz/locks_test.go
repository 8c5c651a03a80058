package fuzz_test

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// locker is a player for recipes that grant something: a client creates a handle for each session, acquires, holds and releases.
type locker[H any] struct {
	make func(c *client, s zk.Session) H
	// use acquires, holds and releases.
	use func(c *client, h H)
	end func(w *world)
}

func (l *locker[H]) handle(c *client) H {
	s, fresh := c.session()
	if fresh || c.own == nil {
		c.own = l.make(c, s)
	}
	return c.own.(H)
}

func (l *locker[H]) step(c *client) { l.use(c, l.handle(c)) }

func (l *locker[H]) prove(c *client) {
	for range 3 {
		l.use(c, l.handle(c))
	}
}

func (l *locker[H]) check(w *world) {
	if l.end != nil {
		l.end(w)
	}
}

// choose draws one of the choices, or returns "" for the default if there are none.
func choose(w *world, choices []string) string {
	if len(choices) == 0 {
		return ""
	}
	return choices[w.rng.IntN(len(choices))]
}

func coin(w *world) bool { return w.rng.IntN(2) == 0 }

// released judges the error of a release of a grant that was or was not lost before.
func (c *client) released(what string, ctx context.Context, h *hold, wasLost bool, err, lostError error) {
	if wasLost || h.gone() {
		c.excused(what, ctx, h.s, err, lostError)
		return
	}
	c.excused(what, ctx, h.s, err)
}

func lockGame(v recipes.Variant[recipes.Lock]) game {
	return game{"lock/" + v.Name, func(w *world) player {
		o := recipes.Options{Watch: choose(w, v.Watch), WatchOwn: coin(w)}
		if v.FIFO && coin(w) {
			o.Layout = recipes.Layouts[w.rng.IntN(len(recipes.Layouts))]
		}
		w.notef("options: %+v", o)
		w.wrap(dir)
		w.written = true
		r := &referee{w: w, name: "lock", fits: alone, ordered: v.Tokens}
		return &locker[recipes.Lock]{
			make: func(c *client, s zk.Session) recipes.Lock { return v.New(s, dir, o) },
			use: func(c *client, l recipes.Lock) {
				s := c.s
				ctx, cancel := c.ctx()
				defer cancel()
				g, granted, err := acquire(c, ctx, l)
				if !c.excused("acquire", ctx, s, err) || err != nil || !granted {
					return
				}
				h := r.begin(&hold{c: c, s: s, path: g.Path, token: g.Token, lost: []<-chan struct{}{g.Lost}})
				c.rest(c.hold())
				depth := 1
				if v.Reentrant && c.rng.IntN(2) == 0 {
					if again, err := l.Acquire(ctx); err == nil {
						depth++
						if again.Token != g.Token {
							c.problemf("client %d: acquired again with another token", c.id)
						}
					} else if !h.gone() {
						c.excused("acquire again", ctx, s, err)
					}
				}
				lost := h.end()
				for range depth {
					ctx, cancel := c.endCtx()
					c.released("release", ctx, h, lost, l.Release(ctx), recipes.ErrLockLost)
					cancel()
				}
			},
		}
	}}
}

// acquire acquires a lock, now and then with TryAcquire.
func acquire(c *client, ctx context.Context, l recipes.Lock) (recipes.Grant, bool, error) {
	if try, ok := l.(recipes.TryLock); ok && c.stormy() && c.rng.IntN(4) == 0 {
		return try.TryAcquire(ctx)
	}
	g, err := l.Acquire(ctx)
	return g, err == nil, err
}

func shared(holds []*hold) bool {
	writers := 0
	for _, h := range holds {
		if h.what == "write" {
			writers++
		}
	}
	return writers == 0 || len(holds) == 1
}

func sharedGame(v recipes.Variant[recipes.RWLock]) game {
	return game{"rw-lock/" + v.Name, func(w *world) player {
		o := recipes.Options{Watch: choose(w, v.Watch), ReaderWatch: choose(w, v.ReaderWatch), WatchOwn: coin(w)}
		if coin(w) {
			o.Layout = recipes.ReadWriteLayouts[w.rng.IntN(len(recipes.ReadWriteLayouts))]
		}
		if coin(w) {
			o.Force = time.Duration(1+w.rng.IntN(2000)) * time.Millisecond
		}
		w.notef("options: %+v", o)
		w.wrap(dir)
		w.written = true
		r := &referee{w: w, name: "rw-lock", fits: shared}
		if v.Name == "revocable" && o.Force > 0 {
			w.set.shared, w.foreign = false, r.taken // the holder learns of it later
		}
		return &locker[recipes.RWLock]{
			make: func(c *client, s zk.Session) recipes.RWLock { return v.New(s, dir, o) },
			use:  func(c *client, l recipes.RWLock) { useShared(c, l, r) },
		}
	}}
}

func useShared(c *client, l recipes.RWLock, r *referee) {
	s := c.s
	ctx, cancel := c.ctx()
	defer cancel()
	revocable, _ := l.(recipes.Revocable)
	if revocable != nil && c.stormy() && c.rng.IntN(4) == 0 {
		revoke(c, ctx, revocable)
		return
	}
	what, ask := "read", l.AcquireRead
	if c.rng.IntN(2) == 0 {
		what, ask = "write", l.AcquireWrite
	}
	g, err := ask(ctx)
	if revocable != nil && c.wasStormy() {
		c.excused("acquire", ctx, s, err, recipes.ErrRevoked)
	} else {
		c.excused("acquire", ctx, s, err)
	}
	if err != nil {
		return
	}
	h := r.begin(&hold{c: c, s: s, what: what, path: g.Path, token: g.Token, lost: []<-chan struct{}{g.Lost}})
	wait(c, g)
	if what == "write" && c.rng.IntN(2) == 0 {
		down, cancel := c.ctx()
		defer cancel()
		lost := h.gone()
		h.is("read") // from here on others may read
		g, err := l.Downgrade(down)
		switch {
		case err == nil:
			h.finish()
			h = r.begin(&hold{c: c, s: s, what: "read", path: g.Path, lost: []<-chan struct{}{g.Lost}})
			wait(c, g)
		case lost || h.gone():
			h.is("write")
			c.excused("downgrade", down, s, err, recipes.ErrLockLost)
		default:
			h.is("write")
			c.excused("downgrade", down, s, err)
		}
	}
	lost := h.end()
	end, cancelEnd := c.endCtx()
	defer cancelEnd()
	err = l.Release(end)
	if err == recipes.ErrNotHeld { // the downgrade failed, and nothing is held
		return
	}
	c.released("release", end, h, lost, err, recipes.ErrLockLost)
}

// wait holds a grant until it is revoked, or for a while.
func wait(c *client, g recipes.Grant) {
	t := time.NewTimer(time.Duration(c.rng.Int64N(int64(c.hold()))) + 1)
	defer t.Stop()
	select {
	case <-t.C:
	case <-g.Revoked:
	}
}

func revoke(c *client, ctx context.Context, l recipes.Revocable) {
	paths, err := l.Holders(ctx)
	c.excused("holders", ctx, c.s, err)
	for _, path := range paths {
		_, err := l.Revoke(ctx, path)
		c.excused("revoke "+path, ctx, c.s, err)
	}
}

func semaphoreGame(v recipes.Variant[recipes.Semaphore]) game {
	return game{"semaphore/" + v.Name, func(w *world) player {
		o := recipes.Options{Watch: choose(w, v.Watch), Permits: 1 + w.rng.IntN(3), SharedPermits: coin(w)}
		if coin(w) {
			o.Layout = recipes.SemaphoreLayouts[w.rng.IntN(len(recipes.SemaphoreLayouts))]
		}
		w.notef("options: %+v", o)
		w.wrap(dir+"/locks", dir+"/leases")
		w.written = true
		r := &referee{w: w, name: "semaphore", fits: atMost(o.Permits)}
		return &locker[recipes.Semaphore]{
			make: func(c *client, s zk.Session) recipes.Semaphore { return v.New(s, dir, o) },
			use: func(c *client, l recipes.Semaphore) {
				s := c.s
				ctx, cancel := c.ctx()
				defer cancel()
				grants, err := l.Acquire(ctx, 1+c.rng.IntN(o.Permits))
				if !c.excused("acquire", ctx, s, err) || err != nil {
					return
				}
				useGrants(c, r, grants, l.Release)
			},
		}
	}}
}

// useGrants holds and releases several grants together.
func useGrants(c *client, r *referee, grants []recipes.Grant, release func(context.Context) error) {
	var held []*hold
	for _, g := range grants {
		held = append(held, r.begin(&hold{c: c, s: c.s, path: g.Path, token: g.Token, lost: []<-chan struct{}{g.Lost}}))
	}
	c.rest(c.hold())
	lost := false
	for _, h := range held {
		lost = h.end() || lost
	}
	ctx, cancel := c.endCtx()
	defer cancel()
	c.released("release", ctx, held[0], lost, release(ctx), recipes.ErrLockLost)
}

func multiGame(v recipes.Variant[recipes.MultiLock]) game {
	return game{"multi-lock/" + v.Name, func(w *world) player {
		o := recipes.Options{Watch: choose(w, v.Watch), WatchOwn: coin(w)}
		names := []string{"a", "b", "c"}
		w.written = true
		r := &referee{w: w, name: "multi-lock", fits: func(holds []*hold) bool {
			seen := map[string]bool{}
			for _, h := range holds {
				if seen[h.what] {
					return false
				}
				seen[h.what] = true
			}
			return true
		}}
		return &locker[recipes.MultiLock]{
			make: func(c *client, s zk.Session) recipes.MultiLock { return v.New(s, dir, o) },
			use: func(c *client, l recipes.MultiLock) {
				s := c.s
				ctx, cancel := c.ctx()
				defer cancel()
				c.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
				mine := append([]string(nil), names[:1+c.rng.IntN(len(names))]...)
				grants, err := l.Acquire(ctx, mine...)
				if !c.excused("acquire", ctx, s, err) || err != nil {
					return
				}
				var held []*hold
				for i, g := range grants {
					held = append(held, r.begin(&hold{c: c, s: s, what: mine[i], path: g.Path, token: g.Token, lost: []<-chan struct{}{g.Lost}}))
				}
				c.rest(c.hold())
				lost := false
				for _, h := range held {
					lost = h.end() || lost
				}
				end, cancelEnd := c.endCtx()
				defer cancelEnd()
				c.released("release", end, held[0], lost, l.Release(end), recipes.ErrLockLost)
			},
		}
	}}
}
