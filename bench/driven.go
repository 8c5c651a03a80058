package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/faults"
	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// checkDriver reports what of a profile cannot be done with a driver, and whether its program is there.
func checkDriver(p profiles.Profile, place int, v workloads.Variant) (problems []error) {
	if v.Program == "" {
		for i, f := range p.Faults {
			if f.Kind == profiles.KillDriver || f.Kind == profiles.KillHolder || f.Kind == profiles.PauseHolder {
				problems = append(problems, fmt.Errorf("%s: %s needs processes of a driver, but %s is one of zkbench's own recipes (remove the fault or the variant; crash ends a "+
					"session of zkbench's own; 'driver:recipes LOCK' runs zkbench's locks in a driver)", p.AtFault(i, "kind"), f.Kind, v.Name))
			}
		}
		return problems
	}
	if _, err := drivers.Find(v.Program); err != nil {
		problems = append(problems, fmt.Errorf("%s: %w", p.At("variants", place), err))
	}
	for i, f := range p.Faults {
		if f.Kind == profiles.Expire || f.Kind == profiles.Crash {
			problems = append(problems, fmt.Errorf("%s: %s ends zkbench's own sessions, but those of %s are the driver's (remove the fault or the variant)",
				p.AtFault(i, "kind"), f.Kind, v.Name))
		}
	}
	return problems
}

// drives tells whether a variant of a profile is a driver.
func (b Setup) drives(p profiles.Profile) bool { return len(b.programs(p)) > 0 }

// programs are the drivers of a profile.
func (b Setup) programs(p profiles.Profile) (all []string) {
	kind, _ := b.workload(p.Workload)
	for _, name := range p.Variants {
		if v, known := kind.Find(name); known && v.Program != "" && !slices.Contains(all, v.Program) {
			all = append(all, v.Program)
		}
	}
	return all
}

// greetDrivers starts each driver of the profile once and asks it who it is, before there is any load.
func (r *runner) greetDrivers(ctx context.Context) error {
	r.hellos = map[string]drivers.Hello{}
	kind, _ := r.workload(r.profile.Workload)
	for _, name := range r.programs(r.profile) {
		command, err := drivers.Find(name)
		if err != nil {
			return err
		}
		p, err := drivers.Start(ctx, command)
		if err != nil {
			return fmt.Errorf("%w\nfor details: %s driver check %s", err, program.Name(), name)
		}
		r.hellos[name] = p.Hello
		if err := p.Close(); err != nil {
			return err
		}
		if v, _ := kind.Find(profiles.DriverPrefix + name); !p.Hello.Knows(v.Can) {
			return fmt.Errorf("driver %s does not support the workload %s: its hello lists %s (expected %s)", name, kind.Name, strings.Join(p.Hello.Can, ", "), v.Can)
		}
	}
	return r.needStores(ctx)
}

// drive has the sessions of the cell held by a driver, whose processes start when the first sessions are opened.
func (c *cell) drive(program string, processes int) error {
	c.hello = c.hellos[program]
	fleet, err := drivers.NewFleet(drivers.Config{Program: program, Processes: processes, Servers: c.serversOf(c.hello), Timeout: c.profile.SessionTimeout, Broken: c.fail})
	if err != nil {
		return err
	}
	c.driver = fleet
	c.clients.dial = func(ctx context.Context, id int) (zk.Session, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		s, err := fleet.Dial(ctx, id)
		if err == nil {
			c.dialed.Store(s.ID(), true)
		}
		return s, err
	}
	return nil
}

// endDriver ends the processes of the cell's driver.
func (c *cell) endDriver() error {
	if c.driver == nil {
		return nil
	}
	return c.driver.Close()
}

// killDriver ends the process of the cell's driver that holds the session of a seat, or all of them; nil where the cell has none.
func (c *cell) killDriver() func(seat int) error {
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

// stopHolder stops a process of the cell's driver while one of its sessions holds a lock; nil where the cell has none.
func (c *cell) stopHolder() func(context.Context) (faults.Holder, error) {
	if c.driver == nil {
		return nil
	}
	return func(ctx context.Context) (faults.Holder, error) {
		for {
			if hold, some := c.standings.Holder(); some {
				client := int(hold.Session)
				resume, err := c.driver.Pause(client)
				switch {
				case err == nil && c.standings.Still(hold): // it has not been told to release, and hears of nothing now
					h := faults.Holder{Session: client, Object: int(hold.Object), Resume: resume, Kill: func() error { return c.driver.Kill(client) }}
					for other := range c.sessions {
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

// driverResult is what is known of the cell's driver, of which so many operations were done in the steady phase; nil where it has none.
func (c *cell) driverResult(done int64) *results.Driver {
	if c.driver == nil {
		return nil
	}
	f := c.driver.Figures()
	d := &results.Driver{Name: f.Name, Version: f.Version, Store: f.Store, Processes: load(c.spec, "").Processes(), Ended: f.Ended, Killed: f.Killed, Holds: f.Holds, Suspended: f.Suspended,
		Seam: results.Summarize(f.Seam, nil), ClockErrorUS: float64(f.Bound.Nanoseconds()) / 1e3}
	if used, resident := c.after.driver.since(c.before.driver); resident > 0 {
		d.KiBPerSession = new(float64(resident) / 1024 / float64(c.sessions))
		d.CPUPerOp = perOp(used, used > 0, done) // the system tells CPU time in ticks: of a little work there may be none
	}
	if s := c.stores[f.Store]; s != nil {
		used, resident := c.after.store.since(c.before.store)
		d.ServerCPUPerOp, d.Servers = perOp(used, resident > 0, done), s.text(f.Store)
	}
	return d
}

// relied is the verdict on what was held simultaneously, if that holds: unknown if a driver had most grants end early, because it suspended them.
func (c *cell) relied(v check.Verdict) check.Verdict {
	if c.driver == nil {
		return v
	}
	f := c.driver.Figures()
	if 2*f.Suspended <= f.Holds {
		return v
	}
	return check.Verdict{Judges: v.Judges, Detail: fmt.Sprintf("not judged: the driver suspended %d of %d grants, which ended their holds for the checks", f.Suspended, f.Holds)}
}

// usages is what some processes have used, by their numbers; those of which the system tells.
type usages map[int]ensemble.Usage

func usagesOf(pids []int) usages {
	m := usages{}
	for _, pid := range pids {
		if u := ensemble.UsageOf(pid); u != nil {
			m[pid] = *u
		}
	}
	return m
}

// markDriver is what the processes of the cell's driver have used.
func (c *cell) markDriver() usages {
	if c.driver == nil {
		return nil
	}
	return usagesOf(c.driver.PIDs())
}

// since is the CPU time that the processes have used since an earlier mark, and the memory that they have now.
func (m usages) since(before usages) (used time.Duration, resident int64) {
	for pid, u := range m {
		used += u.CPU
		if b, some := before[pid]; some && b.Start == u.Start {
			used -= b.CPU
		}
		resident += u.RSS
	}
	return used, resident
}

// driverNotes say what the figures of a driver's cell have in them, and what they do not have.
func driverNotes(d *results.Driver) []string {
	if d == nil {
		return nil
	}
	seam := "the round trip to it was not measured: no operation ended"
	if d.Seam.Count > 0 {
		seam = fmt.Sprintf("the round trip to it takes %s of each operation in the median", millisText(d.Seam.P50))
		if d.Seam.P99 != nil {
			seam += fmt.Sprintf(", %s at p99", millisText(*d.Seam.P99))
		}
		seam += ", included in the times of this cell"
	}
	if d.CPUPerOp != nil && d.KiBPerSession != nil {
		seam += fmt.Sprintf("; it used %s of CPU time for each, and %s of memory for each session", millisText(*d.CPUPerOp/1e3), phrase.Bytes(int64(*d.KiBPerSession*1024)))
	}
	if d.Servers != "" {
		seam += "; " + d.Servers
	}
	notes := []string{
		fmt.Sprintf("driver %s %s in %s: %s", d.Name, d.Version, phrase.Count(d.Processes, "process"), seam),
		"not judged, because a driver's requests and events cannot be observed: fifo among waiters, starvation, and wake-ups lost for less than two session timeouts",
	}
	if d.Suspended > 0 {
		notes = append(notes, fmt.Sprintf("the driver suspended %d of %s before they were given up (%s %%): for the checks each of these holds ended with its event", d.Suspended,
			phrase.Count(d.Holds, "grant"), phrase.Number(100*float64(d.Suspended)/float64(d.Holds), 2)))
	}
	if d.Killed > 0 {
		notes = append(notes, fmt.Sprintf("%s of the driver killed on purpose, with their sessions", phrase.Count(d.Killed, "process")))
	}
	if d.Ended > 0 {
		notes = append(notes, fmt.Sprintf("%s of the driver ended by itself, and its sessions with it", phrase.Count(d.Ended, "process")))
	}
	return notes
}

func millisText(ms float64) string { return phrase.Number(ms, 2) + " ms" }
