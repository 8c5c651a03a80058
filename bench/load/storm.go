package load

import (
	"context"
	"errors"
	"slices"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/zk"
)

// prepareStorms creates the sessions, znodes and watches of the cell's storms.
func (c *Cell) prepareStorms(ctx context.Context) (err error) {
	next := c.Sessions
	c.storms, err = faults.Prepare(ctx, c.Profile.Schedule(), faults.Beside{Dir: c.dir,
		Open: func(ctx context.Context, n int) ([]zk.Session, error) {
			first := next
			next += n
			return c.openBeside(ctx, first, n)
		}})
	return err
}

// openBeside opens sessions in addition to those of the load, numbered from first on; after an error it returns those that it has opened.
func (c *Cell) openBeside(ctx context.Context, first, n int) ([]zk.Session, error) {
	all, problems := make([]zk.Session, n), make([]error, n)
	InParallel(n, atOnce, func(i int) {
		if problems[i] = ctx.Err(); problems[i] == nil {
			all[i], problems[i] = c.clients.dial(ctx, first+i)
		}
	})
	return slices.DeleteFunc(all, func(s zk.Session) bool { return s == nil }), errors.Join(problems...)
}
