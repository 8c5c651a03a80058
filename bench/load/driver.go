package load

import (
	"context"
	"errors"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// drive lets a driver hold the sessions of the cell. The driver's processes start when the first sessions are opened.
func (c *Cell) drive(processes int) error {
	fleet, err := drivers.NewFleet(drivers.Config{Program: c.Driver.Program, Processes: processes, Servers: c.Driver.Servers, Timeout: c.Profile.SessionTimeout, Broken: c.target.Fail})
	if err != nil {
		return err
	}
	c.driver = fleet
	c.clients.dial = func(ctx context.Context, id int) (zk.Session, error) {
		ctx, cancel := context.WithTimeout(ctx, target.DialTimeout)
		defer cancel()
		s, err := fleet.Dial(ctx, id)
		if err == nil {
			c.target.Opened(s)
		}
		return s, err
	}
	return nil
}

// endDriver ends the processes of the cell's driver.
func (c *Cell) endDriver() error {
	if c.driver == nil {
		return nil
	}
	return c.driver.Close()
}

// killDriver returns a function that kills the driver process that holds the session of a seat, or all of them; nil if the cell has no driver.
func (c *Cell) killDriver() func(seat int) error {
	if c.driver == nil {
		return nil
	}
	return func(seat int) error {
		if seat == profiles.AnySession {
			return c.driver.Kill()
		}
		return c.driver.Kill(c.session(seat))
	}
}

// stopHolder returns a function that stops a driver process while one of its sessions holds a lock; nil if the cell has no driver.
func (c *Cell) stopHolder() func(context.Context) (faults.Holder, error) {
	if c.driver == nil {
		return nil
	}
	return func(ctx context.Context) (faults.Holder, error) {
		for {
			if hold, some := c.standings.Holder(); some {
				client := int(hold.Session)
				resume, err := c.driver.Pause(client)
				switch {
				case err == nil && c.standings.Still(hold): // it has not been told to release, and can no longer be told
					h := faults.Holder{Session: client, Object: int(hold.Object), Resume: resume, Kill: func() error { return c.driver.Kill(client) }}
					for other := range c.Sessions {
						if c.driver.Together(client, other) {
							h.Sessions = append(h.Sessions, other)
						}
					}
					return h, nil
				case err == nil:
					if err := resume(); err != nil {
						return faults.Holder{}, err
					}
				}
			}
			if sleep.For(ctx, time.Millisecond) != nil {
				return faults.Holder{}, errors.New("nobody held a lock long enough to be stopped (set hold: 10ms or more)")
			}
		}
	}
}

// markDriver returns what the processes of the cell's driver have used.
func (c *Cell) markDriver() usages {
	if c.driver == nil {
		return nil
	}
	return usagesOf(c.driver.PIDs())
}

// markStore returns what the servers of the driver's store have used, as far as the run has started them.
func (c *Cell) markStore() usages {
	if c.Driver == nil || c.Driver.StorePIDs == nil {
		return nil
	}
	return usagesOf(c.Driver.StorePIDs())
}
