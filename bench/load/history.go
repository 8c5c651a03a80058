package load

import (
	"cmp"

	"github.com/zkbench/zkbench/bench/outcome"
)

// Lost returns an error if samples of the history, or slow requests, could not be kept. It ends the run.
func (c *Cell) Lost() error {
	err := cmp.Or(c.history.Err(), c.trips.Err())
	if err != nil {
		err = outcome.Incomplete(err)
		c.target.Fail(err)
	}
	return err
}
