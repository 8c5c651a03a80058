package fuzz_test

import (
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/zk"
)

func electionGame(v recipes.Variant[recipes.Election]) game {
	return game{"election/" + v.Name, func(w *world) player {
		o := recipes.Options{Watch: choose(w, v.Watch)}
		if coin(w) {
			o.Layout = recipes.ElectionLayouts[w.rng.IntN(len(recipes.ElectionLayouts))]
		}
		w.notef("options: %+v", o)
		w.wrap(dir)
		w.written = true
		r := &referee{w: w, name: "election", fits: alone}
		return &locker[recipes.Election]{
			make: func(c *client, s zk.Session) recipes.Election { return v.New(s, dir, o) },
			use: func(c *client, e recipes.Election) {
				s := c.s
				if c.stormy() && c.rng.IntN(5) == 0 {
					follow(c, e)
					return
				}
				for terms := 1 + c.rng.IntN(2); ; terms-- {
					ctx, cancel := c.ctx()
					t, err := e.Campaign(ctx)
					c.excused("campaign", ctx, s, err)
					cancel()
					if err != nil {
						return
					}
					h := r.begin(&hold{c: c, s: s, path: t.Path, token: t.Token, lost: []<-chan struct{}{t.Lost, t.Suspended}})
					c.rest(c.hold())
					lost := h.notified()
					if lost && terms > 1 { // it campaigns again
						h.finish()
						continue
					}
					lost = h.end()
					end, cancelEnd := c.endCtx()
					err = e.Resign(end)
					if v.Name == "selector" && !lost { // its function may have seen a loss that this code has not
						select {
						case <-t.Suspended:
							lost = true
						default:
						}
					}
					c.released("resign", end, h, lost, err, recipes.ErrTermLost)
					cancelEnd()
					return
				}
			},
		}
	}}
}

// follow asks for the leader, and waits for the next one.
func follow(c *client, e recipes.Election) {
	ctx, cancel := c.ctx()
	defer cancel()
	l, err := e.Leader(ctx)
	c.excused("leader", ctx, c.s, err, recipes.ErrNoLeader)
	f, ok := e.(recipes.Follower)
	if !ok {
		return
	}
	next, err := f.Follow(ctx, l.Token)
	c.excused("follow", ctx, c.s, err)
	if err == nil && next.Token == l.Token {
		c.problemf("client %d: the leader after %#x is the same", c.id, l.Token)
	}
}

// ownersGame is a reentrant lock that several owners of a process share.
func ownersGame() game {
	return game{"lock/reentrant-owners", func(w *world) player {
		w.written = true
		r := &referee{w: w, name: "lock", fits: alone, ordered: true}
		return &locker[*lock.Reentrant]{
			make: func(c *client, s zk.Session) *lock.Reentrant {
				return lock.NewReentrant(s, dir, recipes.Options{})
			},
			use: func(c *client, l *lock.Reentrant) {
				s := c.s
				var all sync.WaitGroup
				for i := range 3 {
					o, rest := lock.NewOwner(), time.Duration(c.rng.Int64N(int64(c.hold()))+int64(i))
					ctx, cancel := c.ctx()
					end, cancelEnd := c.endCtx()
					all.Go(func() {
						defer cancel()
						defer cancelEnd()
						g, err := l.Acquire(ctx, o)
						if !c.excused("acquire", ctx, s, err) || err != nil {
							return
						}
						h := r.begin(&hold{c: c, s: s, path: g.Path, token: g.Token, lost: []<-chan struct{}{g.Lost}})
						time.Sleep(rest)
						lost := h.end()
						c.released("release", end, h, lost, l.Release(end, o), recipes.ErrLockLost)
					})
				}
				all.Wait()
			},
		}
	}}
}

func groupGame(v recipes.Variant[recipes.Group]) game {
	return game{"group/" + v.Name, func(w *world) player {
		o := recipes.Options{WatchOwn: coin(w)}
		ids := []string{"x", "y/ä"}
		w.written = true
		r := &referee{w: w, name: "group", fits: func(holds []*hold) bool {
			seen := map[string]bool{}
			for _, h := range holds {
				if seen[h.what] {
					return false
				}
				seen[h.what] = true
			}
			return true
		}}
		w.set.shared = false // no two handles of a session may join with the same id
		return &locker[recipes.Group]{
			make: func(c *client, s zk.Session) recipes.Group { return v.New(s, dir, o) },
			use: func(c *client, g recipes.Group) {
				s := c.s
				if c.rng.IntN(3) == 0 {
					look(c, g)
					return
				}
				ctx, cancel := c.ctx()
				defer cancel()
				id := ids[c.rng.IntN(len(ids))]
				grant, err := g.Join(ctx, id, []byte("data"))
				if !c.excused("join", ctx, s, err) || err != nil {
					return
				}
				h := r.begin(&hold{c: c, s: s, what: id, path: grant.Path, token: grant.Token, lost: []<-chan struct{}{grant.Lost}})
				c.rest(c.hold())
				lost := h.end()
				end, cancelEnd := c.endCtx()
				defer cancelEnd()
				c.released("leave", end, h, lost, g.Leave(end), recipes.ErrMemberLost)
			},
		}
	}}
}

// look reads the group twice: the second view must be later.
func look(c *client, g recipes.Group) {
	ctx, cancel := c.ctx()
	defer cancel()
	v, err := g.Watch(ctx, 0)
	c.excused("watch", ctx, c.s, err)
	if err == nil && c.stormy() {
		next, err := g.Watch(ctx, v.Token)
		c.excused("watch", ctx, c.s, err)
		if err == nil && next.Token <= v.Token {
			c.problemf("a view %#x after %#x", next.Token, v.Token)
		}
	}
	g.Stop()
}
