package election

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// Selector is Apache Curator's LeaderSelector: it runs a function while it leads. The function's context ends, with ErrTermLost as its cause, when
// the term is suspended or lost. The znode is deleted when the function has returned, and not before, because until then it may act as the leader;
// and it is deleted however the function ends, even by a panic (CURATOR-468, -518, -671). A function that ignores its context may still be running
// when somebody else already leads: what it writes must be fenced with the token.
type Selector struct {
	s zk.Session
	e *contended
}

// NewSelector creates a Selector over the election at path.
func NewSelector(s zk.Session, path string, o recipes.Options) *Selector {
	return &Selector{s: s, e: newPredecessorElection(s, path, o)}
}

// Run leads again and again, queueing behind the other candidates after each term. It ends with the first error of run that is not the result of a
// lost term, with ctx, or with the session. It must not be called concurrently.
func (l *Selector) Run(ctx context.Context, run func(ctx context.Context, t recipes.Term) error) error {
	for {
		err := l.Once(ctx, run)
		switch {
		case ctx.Err() != nil, l.s.Err() != nil:
			return cmp.Or(err, ctx.Err(), l.s.Err())
		case err != nil && !errors.Is(err, recipes.ErrTermLost):
			return err
		}
	}
}

// Once runs one term. Its error is that of the campaign, of run, or of giving the znode up: ErrTermLost if the term ended before run did.
func (l *Selector) Once(ctx context.Context, run func(ctx context.Context, t recipes.Term) error) error {
	t, err := l.e.Campaign(ctx)
	if err != nil {
		return err
	}
	return l.serve(ctx, t, run)
}

// serve runs the function and then ends the term.
func (l *Selector) serve(ctx context.Context, t recipes.Term, run func(ctx context.Context, t recipes.Term) error) (err error) {
	serving, end := context.WithCancelCause(ctx)
	over := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-t.Suspended:
			end(recipes.ErrTermLost)
		case <-t.Lost:
			end(recipes.ErrTermLost)
		case <-over:
		}
	})
	defer func() {
		close(over)
		watcher.Wait()
		if errors.Is(context.Cause(serving), recipes.ErrTermLost) && (err == nil || errors.Is(err, context.Canceled)) {
			err = recipes.ErrTermLost
		}
		end(nil)
		rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.s.Timeout())
		defer cancel()
		if resigned := l.e.Resign(rctx); err == nil {
			err = resigned
		}
	}()
	return run(serving, t)
}

// selected is a Selector behind the interface of an election: its function waits for Resign.
type selected struct {
	*Selector
	turn *turn // nil once the last one is known to be over
}

// turn is one run of the function.
type turn struct {
	resign   func()
	resigned bool
	over     chan struct{} // closed when the znode has been given up
	err      error         // valid once over is closed
}

func newSelected(s zk.Session, path string, o recipes.Options) *selected {
	return &selected{Selector: NewSelector(s, path, o)}
}

// Campaign waits until this client leads. A suspended term is over: the function has ended, and its znode is deleted. Campaign starts when the
// previous term has been given up, which may continue after a Resign whose context has ended.
func (e *selected) Campaign(ctx context.Context) (recipes.Term, error) {
	if e.turn != nil {
		if !e.turn.resigned && !znode.IsClosed(e.e.term.Suspended) && !znode.IsClosed(e.e.term.Lost) {
			return recipes.Term{}, recipes.ErrHeld
		}
		if err := e.end(ctx); err != nil && ctx.Err() != nil {
			return recipes.Term{}, err
		}
	}
	t, err := e.e.Campaign(ctx)
	if err != nil {
		return recipes.Term{}, err
	}
	resigned, resign := context.WithCancel(context.WithoutCancel(ctx))
	turn := &turn{resign: resign, over: make(chan struct{})}
	e.turn = turn
	e.s.Go(func() {
		defer close(turn.over)
		turn.err = e.serve(resigned, t, func(ctx context.Context, _ recipes.Term) error {
			<-ctx.Done()
			return nil
		})
	})
	return t, nil
}

// Resign ends the term.
func (e *selected) Resign(ctx context.Context) error {
	if e.turn == nil || e.turn.resigned {
		return recipes.ErrNotHeld
	}
	return e.end(ctx)
}

// end waits for the end of the turn.
func (e *selected) end(ctx context.Context) error {
	t := e.turn
	t.resigned = true
	t.resign()
	select {
	case <-t.over:
		e.turn = nil
		return t.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leader returns the current leader.
func (e *selected) Leader(ctx context.Context) (recipes.Leader, error) { return e.e.Leader(ctx) }

// Follow waits for another leader.
func (e *selected) Follow(ctx context.Context, token int64) (recipes.Leader, error) {
	return e.e.Follow(ctx, token)
}
