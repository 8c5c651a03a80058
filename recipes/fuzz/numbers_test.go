package fuzz_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func counterGame(v recipes.Variant[recipes.Counter]) game {
	return game{"counter/" + v.Name, func(w *world) player {
		o := recipes.Options{Watch: choose(w, v.Watch), PromoteAfter: 1 + w.rng.IntN(3)}
		var mu sync.Mutex
		var sure, perhaps int64
		values := map[int64]bool{}
		return &locker[recipes.Counter]{
			make: func(c *client, s zk.Session) recipes.Counter { return v.New(s, dir, o) },
			use: func(c *client, n recipes.Counter) {
				ctx, cancel := c.ctx()
				defer cancel()
				got, err := n.Add(ctx, 1)
				c.notef("add: %d %v", got.Value, err)
				defer c.excused("add", ctx, c.s, err, recipes.ErrInDoubt)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case errors.Is(err, recipes.ErrInDoubt):
					perhaps++
				case err == nil:
					sure++
					if values[got.Value] {
						c.problemf("the value %d twice", got.Value)
					}
					values[got.Value] = true
				}
			},
			end: func(w *world) {
				total, err := v.New(w.ens.Dial(), dir, o).Value(context.Background())
				if err != nil || total < sure || total > sure+perhaps {
					w.problemf("the counter is %d (%v) after %d additions and %d in doubt", total, err, sure, perhaps)
				}
			},
		}
	}}
}

func idGame(v recipes.Variant[recipes.IDs]) game {
	return game{"ids/" + v.Name, func(w *world) player {
		var mu sync.Mutex
		given := map[int64]bool{}
		highest := int64(0)
		return &locker[recipes.IDs]{
			make: func(c *client, s zk.Session) recipes.IDs { return v.New(s, dir, recipes.Options{}) },
			use: func(c *client, g recipes.IDs) {
				ctx, cancel := c.ctx()
				defer cancel()
				mu.Lock()
				before := highest
				mu.Unlock()
				id, err := g.Next(ctx)
				c.excused("next", ctx, c.s, err)
				if err != nil {
					return
				}
				c.notef("id %d", id)
				mu.Lock()
				defer mu.Unlock()
				if id <= before || given[id] {
					c.problemf("client %d has id %d, and %d had been given before", c.id, id, before)
				}
				given[id] = true
				highest = max(highest, id)
			},
		}
	}}
}

// configGame writes and reads a setting. The referee knows from the servers what was written.
func configGame(v recipes.Variant[recipes.Setting]) game {
	return game{"config/" + v.Name, func(w *world) player {
		o := recipes.Options{Watch: choose(w, v.Watch)}
		var mu sync.Mutex
		written := map[string]int{} // how often each data were written
		last := make([]recipes.SettingValue, w.set.clients)
		n := 0
		w.watchers = append(w.watchers, func(op zktest.Op) {
			if op.Err != nil || len(op.Ops) != 1 || op.Path != dir || (op.Kind != zk.KindSet && op.Kind != zk.KindCreate) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			written[string(op.Ops[0].Data)]++
		})
		return &locker[recipes.Setting]{
			make: func(c *client, s zk.Session) recipes.Setting { return v.New(s, dir, o) },
			use: func(c *client, h recipes.Setting) {
				s := c.s
				ctx, cancel := c.ctx()
				defer cancel()
				if c.rng.IntN(2) == 0 || !c.stormy() {
					mu.Lock()
					n++
					data := fmt.Sprintf("%d", n)
					mu.Unlock()
					token, err := h.Set(ctx, []byte(data))
					c.notef("set %s: %#x %v", data, token, err)
					c.excused("set", ctx, s, err, recipes.ErrInDoubt)
					mu.Lock()
					made := written[data]
					mu.Unlock()
					if made > 1 || err == nil && made != 1 || err != nil && !errors.Is(err, recipes.ErrInDoubt) && made != 0 {
						c.problemf("client %d: %s was written %d times, but Set() = %v", c.id, data, made, err)
					}
					if c.stormy() {
						return
					}
				}
				got, err := h.Watch(ctx, last[c.id])
				c.excused("watch", ctx, s, err)
				if err != nil {
					return
				}
				c.notef("sees %s %#x", got.Data, got.Token)
				mu.Lock()
				known := written[string(got.Data)] > 0
				mu.Unlock()
				if got.Token <= last[c.id].Token || !known {
					c.problemf("client %d: setting %q %#x after %#x", c.id, got.Data, got.Token, last[c.id].Token)
				}
				last[c.id] = got
				h.Stop()
			},
		}
	}}
}

// commitGame carries out transactions of all clients, one after the other.
func commitGame(v recipes.Variant[recipes.Commit]) game {
	return game{"commit/" + v.Name, func(w *world) player {
		o := recipes.Options{Members: w.set.clients, Alive: coin(w), Deadline: 1 + timeOf(w)}
		w.set.shared = false
		w.foreign = func(path string) bool { return strings.Contains(path, "/alive_") }
		w.stays = w.foreign // the sites are in the middle of a transaction
		w.notef("options: %+v", o)
		p := &commits{w: w, v: v, o: o, decided: map[int]map[bool]int{}, nays: map[int]bool{}}
		for range w.set.clients {
			p.at = append(p.at, &part{})
		}
		return p
	}}
}
