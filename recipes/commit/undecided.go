package commit

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// undecided is the two-phase commit of 'Understanding ZooKeeper, continued', section 11, read literally: the coordinator creates the transaction and then, one
// at a time, a child for each site; every site watches all children and votes by writing to its own; and any site that has seen all votes decides. The article
// says nothing about a site that does not vote: without a timeout the others would wait forever; with one, which every implementation has to add, a site gives
// up on its own what another, which saw the last vote in time, commits. A vote may be overwritten, and between the first create and the last a site finds half
// a transaction.
//
// The article leaves all znodes behind; Finish is our addition.
type undecided struct{ *site }

// Propose starts the transaction, znode by znode.
func (c undecided) Propose(ctx context.Context, payload []byte) error {
	if err := znode.MakeParents(ctx, c.s, znode.Parent(c.path)); err != nil { // the article starts with an existing directory
		return fmt.Errorf("propose %s: %w", c.path, err)
	}
	if err := c.create(ctx, c.path, describe(znode.NewGUID(), c.members, c.o.Deadline, payload)); err != nil {
		return err
	}
	c.o.Pause(recipes.PauseCreated)
	for i := range c.members {
		if err := c.create(ctx, c.vote(i+1), nil); err != nil {
			return err
		}
	}
	return c.begun(ctx)
}

func (c undecided) create(ctx context.Context, path string, data []byte) error {
	if _, err := c.s.Create(ctx, path, data, zk.Persistent); err != nil {
		return fmt.Errorf("propose %s: %w", c.path, err)
	}
	return nil
}

// Vote casts this site's vote, overwriting an earlier one.
func (c undecided) Vote(ctx context.Context, commit bool) error {
	return c.watchAndVote(ctx, commit, zk.AnyVersion)
}

// Decide returns what this site has decided, whatever the others have.
func (c undecided) Decide(ctx context.Context) (bool, error) {
	commit, _, err := c.inTime(ctx, c.collect)
	return c.decided(commit, err)
}
