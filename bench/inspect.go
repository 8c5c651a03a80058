package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// inspect looks at what the closed sessions left. Znodes of sessions that were lost, or whose end overloaded servers answered too late
// for Close to hear of it, go when the servers expire them, at most a session timeout and a tick later, so it looks again until then.
func (c *cell) inspect(ctx context.Context) error {
	ctx, end := c.bounded(ctx, nil)
	defer end()
	patience := c.profile.SessionTimeout + grace
	ctx, cancel := context.WithTimeout(ctx, patience+c.profile.SessionTimeout+grace) // for servers that do not answer
	defer cancel()
	for deadline := time.Now().Add(patience); ; {
		var seen samples
		err := c.admin(ctx, func(s zk.Session) error {
			seen = nil
			return c.work.Inspect(ctx, s, &seen)
		})
		if err != nil {
			return fmt.Errorf("look for what is left: %w", err)
		}
		if seen.allOK() || time.Now().After(deadline) {
			c.keep(seen)
			return nil
		}
		if !tick(ctx, 200*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// keep adds what was seen after the load to the history.
func (c *cell) keep(seen samples) {
	now := c.origin.Now()
	for _, s := range seen {
		s.Due, s.Start, s.End = now, now, now
		c.history.Shard(0).Record(s)
	}
}

// samples is a recorder that keeps.
type samples []metrics.Sample

func (s *samples) Record(m metrics.Sample) { *s = append(*s, m) }

func (s samples) allOK() bool {
	for _, m := range s {
		if m.Outcome != metrics.OK {
			return false
		}
	}
	return true
}
