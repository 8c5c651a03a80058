package fuzz_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk/zktest"
)

func timeOf(w *world) time.Duration { return time.Duration(w.rng.Int64N(int64(3 * time.Second))) }

// commits runs transactions one after the other. A site whose session has ended comes back with a new handle.
type commits struct {
	w       *world
	v       recipes.Variant[recipes.Commit]
	o       recipes.Options
	at      []*part
	mu      sync.Mutex
	last    int                  // the transaction that must end in the end
	decided map[int]map[bool]int // by transaction and decision: the number of sites
	nays    map[int]bool         // transactions in which a site has voted no
}

// part is the state of a site.
type part struct {
	tx      int
	handle  recipes.Commit
	s       *zktest.Session
	step    int // 0: propose or learn, 1: vote, 2: decide, 3: finish
	commits bool
	yes     bool // has voted, or may have
	asked   bool
}

func (p *commits) step(c *client) {
	a := p.at[c.id]
	s, _ := c.session()
	if a.handle == nil || a.s != s {
		o := p.o
		o.Site = c.id + 1
		a.handle, a.s = p.v.New(s, fmt.Sprintf("%s/tx-%010d", dir, a.tx), o), s
		if a.step > 0 && a.step < 3 {
			a.step = 0
		}
	}
	ctx, cancel := c.ctx()
	defer cancel()
	if a.step == 2 && !c.stormy() {
		var less context.CancelFunc
		ctx, less = context.WithTimeout(ctx, patient)
		defer less()
	}
	var err error
	switch a.step {
	case 0:
		if c.id == 0 && !a.asked {
			err = a.handle.Propose(ctx, []byte("payload"))
			a.asked = a.asked || err == nil || errors.Is(err, recipes.ErrProposed)
		} else {
			_, err = a.handle.Learn(ctx)
		}
		c.excused("propose or learn", ctx, s, err, recipes.ErrProposed)
	case 1:
		if !a.yes && c.rng.IntN(5) > 0 {
			a.commits = true
		}
		err = a.handle.Vote(ctx, a.commits)
		a.yes = true
		if !a.commits {
			p.mu.Lock()
			p.nays[a.tx] = true
			p.mu.Unlock()
		}
		c.excused("vote", ctx, s, err, recipes.ErrVoted)
	case 2:
		var commit bool
		commit, err = a.handle.Decide(ctx)
		c.excused("decide", ctx, s, err)
		if err == nil {
			p.decide(c, a, commit)
		}
	case 3:
		err = a.handle.Finish(ctx)
		c.excused("finish", ctx, s, err, recipes.ErrNoTransaction)
		if errors.Is(err, recipes.ErrNoTransaction) {
			err = nil
		}
	}
	if err == nil {
		a.step++
	}
	if a.step == 4 {
		p.mu.Lock()
		*a = part{tx: a.tx + 1}
		p.mu.Unlock()
	}
}

func (p *commits) decide(c *client, a *part, commit bool) {
	c.notef("transaction %d: commit %v", a.tx, commit)
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.decided[a.tx]
	if d == nil {
		d = map[bool]int{}
		p.decided[a.tx] = d
	}
	d[commit]++
	if d[true] > 0 && d[false] > 0 {
		c.problemf("transaction %d is committed by some and not by others", a.tx)
	}
	if commit && p.nays[a.tx] {
		c.problemf("transaction %d is committed, although a site has voted against it", a.tx)
	}
}

// prove ends the current transactions and carries out one more.
func (p *commits) prove(c *client) {
	a := p.at[c.id]
	p.mu.Lock()
	if p.last == 0 {
		for _, other := range p.at {
			p.last = max(p.last, other.tx+1)
		}
	}
	p.mu.Unlock()
	for begun := time.Now(); a.tx <= p.last; c.rest(50 * time.Millisecond) {
		if time.Since(begun) > 10*patient {
			c.problemf("client %d is stuck in step %d of transaction %d", c.id, a.step, a.tx)
			return
		}
		p.step(c)
	}
}

func (p *commits) check(w *world) {
	for path := range w.ens.Tree() {
		if len(path) > len(dir) {
			w.problemf("%s is left", path)
			return
		}
	}
}
