package commit

import (
	"context"
	"errors"
	"sync"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// poll is the vote of one other site, as this site knows it.
type poll struct {
	site  int
	vote  []byte    // empty if not cast, as far as is known
	watch *zk.Watch // armed while it is not
	live  *zk.Watch // on its alive znode, with Options.Alive
	seen  bool      // the alive znode has existed
}

// watchVotes reads the votes of all others and watches the ones that have not been cast: the step before this site's own vote, at which the recipe
// page says 'the site reads each child node and sets a watch'. The reads are sent concurrently. Votes that are already watched are not read again.
// own says to include this site's vote, because this handle has not cast it: an earlier life of the site may have.
func (c *site) watchVotes(ctx context.Context, own bool) error {
	if c.polls != nil {
		return nil
	}
	var polls []*poll
	for i := 1; i <= c.members; i++ {
		if i != c.o.Site || own {
			polls = append(polls, &poll{site: i})
		}
	}
	errs := make([]error, len(polls))
	var all sync.WaitGroup
	for i, p := range polls {
		all.Go(func() { errs[i] = c.look(ctx, p) })
	}
	all.Wait()
	c.polls = polls
	if err := errors.Join(errs...); err != nil {
		c.unwatch()
		return gone(err)
	}
	return nil
}

// look reads a vote and watches it if it has not been cast; and watches whether its site is alive, with Options.Alive.
func (c *site) look(ctx context.Context, p *poll) error {
	err := znode.Insist(ctx, func() (err error) { p.vote, _, p.watch, err = c.s.GetW(ctx, c.vote(p.site)); return })
	if err != nil {
		p.watch = nil
		return err
	}
	if len(p.vote) > 0 {
		p.watch.Stop()
		return nil
	}
	if c.o.Alive {
		p.seen, p.live, err = c.existsW(ctx, c.alive(p.site))
	}
	return err
}

// unwatch stops the remaining watches.
func (c *site) unwatch() {
	for _, p := range c.polls {
		if p.watch != nil {
			p.watch.Stop()
		}
		if p.live != nil {
			p.live.Stop()
		}
	}
	c.polls = nil
}

// collect waits for the votes: the result is commit once all have voted to commit, and abort on the first vote to abort. Each vote has a goroutine
// that waits for it, because any of them may end the wait.
func (c *site) collect(ctx context.Context) (commit bool, err error) {
	if string(c.voted) == abortWord {
		return false, nil
	}
	if c.voted == nil {
		c.unwatch() // what a failed Vote has left does not include this site's own vote
	}
	if err := c.watchVotes(ctx, c.voted == nil); err != nil {
		return false, err
	}
	type answer struct {
		commit bool
		err    error
	}
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan answer, len(c.polls))
	var all sync.WaitGroup
	defer func() {
		cancel()
		all.Wait()
		c.unwatch()
	}()
	for _, p := range c.polls {
		all.Go(func() {
			commit, err := c.awaitVote(ctx, p)
			answers <- answer{commit, err}
		})
	}
	for range c.polls {
		if a := <-answers; a.err != nil || !a.commit {
			return false, a.err
		}
	}
	return true, nil
}

// awaitVote waits until the vote is cast or, with Options.Alive, until its site has died without voting, which means abort.
func (c *site) awaitVote(ctx context.Context, p *poll) (commit bool, err error) {
	for len(p.vote) == 0 {
		var life <-chan zk.Event
		if p.live != nil {
			life = p.live.C()
		}
		select {
		case e := <-p.watch.C():
			if e.Err != nil {
				return false, e.Err
			}
			c.o.Pause(recipes.PauseWoken)
			// A vote is cast only once, so this read needs no watch, unless the event was for something else.
			if p.vote, err = c.read(ctx, c.vote(p.site)); err == nil && len(p.vote) == 0 {
				err = znode.Insist(ctx, func() (err error) { p.vote, _, p.watch, err = c.s.GetW(ctx, c.vote(p.site)); return })
			}
		case e := <-life:
			if e.Err != nil {
				return false, e.Err
			}
			was := p.seen
			if p.seen, p.live, err = c.existsW(ctx, c.alive(p.site)); err != nil || p.seen || !was {
				break
			}
			if p.vote, err = c.read(ctx, c.vote(p.site)); err == nil && len(p.vote) == 0 {
				return false, nil
			}
		case <-ctx.Done():
			return false, ctx.Err()
		}
		if err != nil {
			return false, gone(err)
		}
	}
	return string(p.vote) == commitWord, nil
}
