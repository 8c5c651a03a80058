package fuzz_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// item records what happened to an item.
type item struct {
	id           string
	put          bool // certainly
	doubt        bool // perhaps
	tries        int  // of the put: the most copies that a put without Exact can leave
	out, perhaps int  // how often it was taken, and may have been taken
	producer     *zktest.Session
}

// books records all items of a run.
type books struct {
	w     *world
	o     recipes.Options
	mu    sync.Mutex
	n     int
	items map[string]*item
	order bool // items must be taken in order
	takes []taken
}

// taken is an item that was taken by a call that returned at end.
type taken struct {
	recipes.Item
	end time.Time
}

// before reports whether a must be taken before b.
func before(a, b recipes.Item) bool {
	if c := cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Priority, b.Priority)); c != 0 {
		return c < 0
	}
	return a.Czxid < b.Czxid
}

// inTurn checks that no earlier call took a later item although this one was in its list.
func (b *books) inTurn(got recipes.Item, began time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.order {
		return
	}
	for _, other := range b.takes {
		if other.end.Before(began) && before(got, other.Item) && got.Czxid <= other.AsOf {
			b.w.problemf("item %s was in the queue, but %s was taken before it", got.Data, other.Data)
		}
	}
	b.takes = append(b.takes, taken{got, time.Now()})
}

// taken records that an item was taken, certainly or perhaps.
func (b *books) taken(got recipes.Item, sure bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	it := b.items[string(got.Data)]
	switch {
	case it == nil:
		b.w.problemf("an item %q that nobody has put", got.Data)
	case sure:
		it.out++
	default:
		it.perhaps++
	}
}

// user is the handle of a client. again counts how often its current call has repeated a create.
type user struct {
	recipes.Queue
	again int
}

func queueGame(v recipes.Variant[recipes.Queue]) game {
	return game{"queue/" + v.Name, func(w *world) player {
		o := recipes.Options{Clock: time.Now, List: choose(w, v.Lists), Exact: coin(w), EphemeralItems: w.rng.IntN(6) == 0}
		if w.rng.IntN(3) == 0 {
			o.MaxItems = 1 + w.rng.IntN(5)
		}
		if v.Name == "fifo" && w.rng.IntN(4) == 0 {
			o.Window = 3
		}
		more := w.rng.IntN(8) // puts, so that the queue fills
		w.notef("options: %+v", o)
		items := func(path string) bool { return o.EphemeralItems && !strings.Contains(path, "/taken/") }
		w.foreign = items
		w.stays = func(path string) bool { return items(path) || strings.Contains(path, "-producers/") }
		if !o.Exact {
			w.stays = items
		}
		b := &books{w: w, o: o, items: map[string]*item{}, order: v.Name != "claim" && o.Window < 2}
		claims := &referee{w: w, name: "claims", fits: func(holds []*hold) bool {
			seen := map[string]bool{}
			for _, h := range holds {
				if seen[h.path] {
					return false
				}
				seen[h.path] = true
			}
			return true
		}}
		return &locker[*user]{
			make: func(c *client, s zk.Session) *user {
				u := &user{}
				o := o
				o.Pick = c.rng.IntN
				o.Trace = &recipes.Trace{PutAgain: func() { u.again++ }}
				u.Queue = v.New(s, dir, o)
				return u
			},
			use: func(c *client, u *user) {
				claimer, _ := u.Queue.(recipes.Claimer)
				switch n := c.rng.IntN(10 + more); {
				case !c.stormy(), n < 4, n >= 10:
					b.offer(c, u)
					if !c.stormy() {
						b.take(c, "remove", u.Remove)
					}
				case n < 5:
					ctx, cancel := c.ctx()
					defer cancel()
					_, err := u.Element(ctx)
					c.excused("element", ctx, c.s, err, recipes.ErrEmpty)
				case claimer != nil && n < 9:
					b.claim(c, claimer, claims)
				case n < 7:
					b.take(c, "remove", u.Remove)
				default:
					b.take(c, "take", u.Take)
				}
			},
			end: func(w *world) { b.end(w, v) },
		}
	}}
}

func (b *books) offer(c *client, u *user) {
	ctx, cancel := c.ctx()
	defer cancel()
	b.mu.Lock()
	b.n++
	it := &item{id: fmt.Sprint(b.n), producer: c.s}
	b.items[it.id] = it
	b.mu.Unlock()
	in := recipes.Item{Data: []byte(it.id), Priority: int32(c.rng.IntN(5) - 2)}
	if c.rng.IntN(2) == 0 {
		in.Due = time.Now().Add(time.Duration(c.rng.IntN(int(time.Second))))
	}
	put := u.Put
	if c.rng.IntN(3) == 0 || !c.stormy() {
		put = u.Offer
	}
	u.again = 0
	made, err := put(ctx, in)
	b.mu.Lock()
	it.tries = 1 + u.again
	it.put, it.doubt = err == nil, errors.Is(err, recipes.ErrInDoubt)
	b.mu.Unlock()
	c.notef("put %s at %s: %v", it.id, made.Path, err)
	c.excused("put", ctx, c.s, err, recipes.ErrFull)
}

func (b *books) take(c *client, verb string, take func(context.Context) (recipes.Item, error)) {
	ctx, cancel := c.ctx()
	defer cancel()
	began := time.Now()
	got, err := take(ctx)
	var doubt *recipes.InDoubtError
	switch {
	case err == nil:
		b.out(c, got)
		b.inTurn(got, began)
	case errors.As(err, &doubt):
		b.taken(doubt.Item, false)
	}
	c.excused(verb, ctx, c.s, err, recipes.ErrEmpty)
}

// out records an item that was taken.
func (b *books) out(c *client, got recipes.Item) {
	c.notef("has taken %s from %s", got.Data, got.Path)
	if got.Due.After(time.Now()) {
		c.problemf("client %d: item %s comes %v too early", c.id, got.Data, time.Until(got.Due))
	}
	b.taken(got, true)
}

func (b *books) claim(c *client, q recipes.Claimer, r *referee) {
	s := c.s
	ctx, cancel := c.ctx()
	defer cancel()
	claim, err := q.Claim(ctx)
	c.excused("claim", ctx, s, err)
	if err != nil {
		return
	}
	h := r.begin(&hold{c: c, s: s, path: claim.Znode, token: claim.Token, lost: []<-chan struct{}{claim.Lost}})
	c.rest(c.hold())
	lost := h.end()
	end, cancelEnd := c.endCtx()
	defer cancelEnd()
	if c.rng.IntN(3) == 0 {
		c.released("release of a claim", end, h, lost, q.Release(end, claim), recipes.ErrClaimLost)
		return
	}
	err = q.Finish(end, claim)
	switch {
	case err == nil:
		b.out(c, claim.Item)
	case errors.Is(err, recipes.ErrInDoubt):
		b.taken(claim.Item, false)
	}
	c.released("finish", end, h, lost || b.o.EphemeralItems, err, recipes.ErrClaimLost) // an ephemeral item may have gone with its producer
}

// end takes the remaining items, in order, and checks that no item was lost or taken twice.
func (b *books) end(w *world, v recipes.Variant[recipes.Queue]) {
	markers := 0
	for _, path := range w.ens.Ephemerals() {
		if strings.Contains(path, "-producers/") {
			markers++
		}
	}
	if markers > len(w.clients) {
		w.problemf("%d markers for %d producers", markers, len(w.clients))
	}
	s := w.ens.Dial()
	q := v.New(s, dir, recipes.Options{Clock: time.Now})
	var last recipes.Item
	for {
		got, err := q.Remove(context.Background())
		if errors.Is(err, recipes.ErrEmpty) {
			break
		}
		if err != nil {
			w.problemf("remove at the end: %v", err)
			return
		}
		b.taken(got, true)
		w.notef("left: %s at %s", got.Data, got.Path)
		if last.Path != "" && before(got, last) {
			w.problemf("item %s was left after %s, which comes later", got.Data, last.Data)
		}
		last = got
	}
	s.Close()
	for n := range b.n {
		it := b.items[fmt.Sprint(n+1)]
		copies := 0
		switch {
		case it.put || it.doubt:
			copies = it.tries
			if b.o.Exact {
				copies = 1
			}
		}
		if it.out > copies {
			w.problemf("item %s came out %d times, put at most %d times", it.id, it.out, copies)
		}
		if it.put && it.out+it.perhaps == 0 && (!b.o.EphemeralItems || it.producer.Err() == nil) {
			w.problemf("item %s is lost", it.id)
		}
	}
}
