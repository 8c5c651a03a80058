package root

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/zk"
)

// mostTries is how often an action is tried whose answer was lost or shows that other clients work on the same znodes: for about five seconds.
const mostTries = 12

// tries counts the attempts of one action, and spaces them.
type tries int

// next waits before the next attempt, after one that failed with err: not at all before the second, then from 10 ms doubling to 1 s. It returns an error that
// says why if there must be no further attempt.
func (t *tries) next(ctx context.Context, s zk.Session, err error) error {
	*t++
	switch {
	case *t >= mostTries && zk.Classify(err) == zk.ClassMaybeApplied:
		return fmt.Errorf("tried %d times, the last: %w; check the connection to the servers, and what their logs say", *t, err)
	case *t >= mostTries:
		return fmt.Errorf("tried %d times, the last: %w, which other answers deny; check that all --servers are of one ensemble, and that no other program works on these znodes",
			*t, err)
	case s.Err() != nil:
		return err
	case *t == 1:
		return ctx.Err()
	}
	if sleep.For(ctx, min(10*time.Millisecond<<(*t-2), time.Second)) != nil {
		return err
	}
	return nil
}
