package drivers

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Queue returns the catalogue's entry for the queue of a driver. Its hello says whether items are claimed, and in which order they are taken.
func Queue(name string) recipes.Variant[recipes.Queue] {
	return entry(name, "queue", NewQueue)
}

// NewQueue returns a handle on the queue at a path, for a session that a driver holds. It is a recipes.Claimer: use Claim and Finish if the driver's hello says
// that its takes claim, and otherwise Take. It does not support Release or operations that do not wait.
func NewQueue(s zk.Session, path string, _ recipes.Options) recipes.Queue {
	return &queue{s: sessionOf(s), path: path}
}

type queue struct {
	s    *Session
	path string
}

// ask sends a request for the queue. The error is an *InDoubtError, with the item of the request, if it is unknown whether the request was executed.
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

// Put implements recipes.Queue.
func (q *queue) Put(ctx context.Context, it recipes.Item) (recipes.Item, error) {
	reply, err := q.ask(ctx, Request{Op: OpPut, Item: it.Data})
	it.Path = reply.Node
	return it, err
}

// Take implements recipes.Queue. An *InDoubtError from it has no item: it is unknown which item may have been taken.
func (q *queue) Take(ctx context.Context) (recipes.Item, error) {
	reply, err := q.ask(ctx, Request{Op: OpTake})
	return recipes.Item{Data: reply.Item, Path: reply.Node}, err
}

// Claim implements recipes.Claimer. An item claimed by a claim in doubt becomes available again when the session is over.
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
	case closed(lost): // while waiting
		lost = q.s.Lease()
	}
	return recipes.Claim{Item: recipes.Item{Data: reply.Item, Path: reply.Node}, Token: reply.Token, Lost: lost}, nil
}

// Finish implements recipes.Claimer.
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
	case err != nil && q.s.Err() != nil: // the session was over before the request
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
