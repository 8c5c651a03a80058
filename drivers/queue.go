package drivers

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Queue is the catalogue's entry for the queue of a driver. Whether its items are claimed, and in which order they come, its hello says.
func Queue(name string) recipes.Variant[recipes.Queue] {
	return entry(name, "queue", NewQueue)
}

// NewQueue is a handle on the queue at a path, of a session that a driver holds. It is a recipes.Claimer: of a driver whose hello says that its takes claim,
// Claim and Finish are to be used, and otherwise Take. What does not wait, and Release, it cannot do.
func NewQueue(s zk.Session, path string, _ recipes.Options) recipes.Queue {
	return &queue{s: sessionOf(s), path: path}
}

type queue struct {
	s    *Session
	path string
}

// ask carries a request for the queue out. The error is an *InDoubtError, with the item of the request, when nothing tells whether that was done.
func (q *queue) ask(ctx context.Context, r Request) (Reply, error) {
	if q.s == nil {
		return Reply{}, errNoDriver
	}
	r.Path = q.path
	r.DeadlineMS = deadlineOf(ctx)
	reply, doubt, err := q.s.carry(ctx, r)
	if doubt {
		err = &recipes.InDoubtError{Item: recipes.Item{Data: r.Item}, Cause: err}
	}
	return reply, err
}

// Put is recipes.Queue's.
func (q *queue) Put(ctx context.Context, it recipes.Item) (recipes.Item, error) {
	reply, err := q.ask(ctx, Request{Op: OpPut, Item: it.Data})
	it.Path = reply.Node
	return it, err
}

// Take is recipes.Queue's. The *InDoubtError of one that may have taken something has no item: nobody knows which it was.
func (q *queue) Take(ctx context.Context) (recipes.Item, error) {
	reply, err := q.ask(ctx, Request{Op: OpTake})
	return recipes.Item{Data: reply.Item, Path: reply.Node}, err
}

// Claim is recipes.Claimer's. What a claim of which nothing is known has claimed is there again when the session is over.
func (q *queue) Claim(ctx context.Context) (recipes.Claim, error) {
	if q.s == nil {
		return recipes.Claim{}, errNoDriver
	}
	lost := q.s.Lease()
	reply, err := q.ask(ctx, Request{Op: OpTake})
	var doubt *recipes.InDoubtError
	switch {
	case errors.As(err, &doubt):
		return recipes.Claim{}, doubt.Cause
	case err != nil:
		return recipes.Claim{}, err
	case closed(lost): // while it waited
		lost = q.s.Lease()
	}
	return recipes.Claim{Item: recipes.Item{Data: reply.Item, Path: reply.Node}, Token: reply.Token, Lost: lost}, nil
}

// Finish is recipes.Claimer's.
func (q *queue) Finish(ctx context.Context, c recipes.Claim) error {
	if q.s != nil {
		q.s.gaveUp(c.Lost)
	}
	_, err := q.ask(ctx, Request{Op: OpFinish})
	var doubt *recipes.InDoubtError
	switch {
	case errors.Is(err, recipes.ErrLockLost):
		return recipes.ErrClaimLost
	case errors.As(err, &doubt):
		doubt.Item = c.Item
	case err != nil && q.s.Err() != nil: // it was over before the request
		return fmt.Errorf("%w: %w", recipes.ErrClaimLost, err)
	}
	return err
}

func (q *queue) Offer(context.Context, recipes.Item) (recipes.Item, error) {
	return recipes.Item{}, zk.ErrUnimplemented
}
func (q *queue) Element(context.Context) (recipes.Item, error) {
	return recipes.Item{}, zk.ErrUnimplemented
}
func (q *queue) Remove(context.Context) (recipes.Item, error) {
	return recipes.Item{}, zk.ErrUnimplemented
}
func (q *queue) Release(context.Context, recipes.Claim) error { return zk.ErrUnimplemented }
