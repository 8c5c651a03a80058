package commit

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// flat is the two-phase commit of ZooKeeper's recipe page in its first form, in which every site watches the votes of all others and determines the
// outcome by itself, completed where the page leaves it open: the outcome is a znode that is created once. If a site stops waiting for the others,
// that znode alone keeps it from aborting what they commit.
type flat struct{ *site }

// Vote casts this site's vote. It watches the votes of the others first.
func (c flat) Vote(ctx context.Context, commit bool) error { return c.watchAndVote(ctx, commit, 0) }

// watchAndVote watches the votes of the others and casts this site's.
func (c *site) watchAndVote(ctx context.Context, commit bool, version int32) error {
	if c.deadline.IsZero() {
		return fmt.Errorf("vote on %s: %w", c.path, recipes.ErrNotLearnt)
	}
	err := c.watchVotes(ctx, false)
	if err == nil {
		err = c.cast(ctx, commit, version)
	}
	if err != nil {
		return fmt.Errorf("vote on %s: %w", c.path, err)
	}
	return nil
}

// Decide waits for the decision. A site that has come back without having voted checks first whether the others have decided without it.
func (c flat) Decide(ctx context.Context) (bool, error) {
	if c.voted == nil {
		if _, there, err := c.s.Exists(ctx, c.decision()); err == nil && there {
			return c.decided(c.follow(ctx))
		}
	}
	commit, _, err := c.inTime(ctx, c.collect)
	if err == nil {
		commit, err = c.record(ctx, commit)
	}
	return c.decided(commit, err)
}

func (c *site) decided(commit bool, err error) (bool, error) {
	if err != nil {
		return false, fmt.Errorf("decide %s: %w", c.path, err)
	}
	return commit, nil
}

// inTime waits until the deadline, after which the outcome is an abort unless decided otherwise; late says that the deadline has passed. The deadline
// ends only the waiting: a site that knows the outcome may take as long as its context allows to record it.
func (c *site) inTime(ctx context.Context, wait func(context.Context) (bool, error)) (commit, late bool, err error) {
	if c.deadline.IsZero() {
		return false, false, recipes.ErrNotLearnt
	}
	timed, cancel := context.WithDeadline(ctx, c.deadline)
	defer cancel()
	commit, err = wait(timed)
	if err == nil || timed.Err() == nil || ctx.Err() != nil || znode.SessionOver(err) {
		return commit, false, err
	}
	c.o.Pause(recipes.PauseLate)
	return false, true, nil
}

// record creates the decision, or obeys the existing one. conditions must hold for it to be created.
func (c *site) record(ctx context.Context, commit bool, conditions ...zk.Op) (bool, error) {
	c.o.Pause(recipes.PauseDeciding)
	var doubt bool
	err := c.write(ctx, &doubt, func() error {
		if len(conditions) == 0 {
			_, err := c.s.Create(ctx, c.decision(), word(commit), zk.Persistent)
			return err
		}
		_, err := c.s.Multi(ctx, append(conditions[:len(conditions):len(conditions)], zk.CreateOp(c.decision(), word(commit), zk.Persistent))...)
		return err
	})
	if errors.Is(err, zk.ErrNodeExists) {
		return c.follow(ctx) // also after a lost reply: the decision may be another's
	}
	return commit && err == nil, gone(err)
}

// follow reads the decision.
func (c *site) follow(ctx context.Context) (bool, error) {
	data, err := c.read(ctx, c.decision())
	return string(data) == commitWord, gone(err)
}

// coordinated is the second form of the recipe page: only the site that proposed the transaction watches the votes, and it announces its decision to
// the sites. This takes 2 messages per site, whereas in flat every site sends one to every other.
type coordinated struct{ *site }

// Vote casts this site's vote. The coordinator watches the votes of the others first.
func (c coordinated) Vote(ctx context.Context, commit bool) error {
	if c.proposed {
		return c.watchAndVote(ctx, commit, 0)
	}
	if err := c.cast(ctx, commit, 0); err != nil {
		return fmt.Errorf("vote on %s: %w", c.path, err)
	}
	return nil
}

// Decide waits for the decision. A coordinator that crashed and came back is a site like the others.
func (c coordinated) Decide(ctx context.Context) (bool, error) {
	if c.proposed {
		return c.decided(c.coordinate(ctx))
	}
	decided, late, err := c.inTime(ctx, func(ctx context.Context) (bool, error) {
		return false, c.appears(ctx, c.decision())
	})
	switch {
	case late:
		decided, err = c.record(ctx, false)
	case err == nil:
		decided, err = c.follow(ctx)
	}
	return c.decided(decided, err)
}

// coordinate makes the decision when all votes have been cast; a commit is conditional on the votes still being what was read: cast once.
func (c coordinated) coordinate(ctx context.Context) (bool, error) {
	commit, _, err := c.inTime(ctx, c.collect)
	if err != nil {
		return false, err
	}
	if !commit {
		return c.record(ctx, false)
	}
	var cast []zk.Op
	for i := range c.members {
		cast = append(cast, zk.CheckOp(c.vote(i+1), 1))
	}
	commit, err = c.record(ctx, true, cast...)
	if errors.Is(err, zk.ErrBadVersion) { // somebody who does not follow this recipe has voted twice
		return c.record(ctx, false)
	}
	return commit, err
}
