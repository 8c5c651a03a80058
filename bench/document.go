package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// document is the result before the first cell.
func (r *runner) document() *results.Run {
	about := r.Ensemble.Describe()
	env := results.Environment{
		Zkbench: r.Version, Go: runtime.Version(), CPU: procField("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(),
		MemoryMiB: memoryMiB(), Kernel: strings.TrimSpace(readFile("/proc/sys/kernel/osrelease")), Java: about.Java,
		Engine: r.engine.Name, ZooKeeper: about.Version, Servers: about.Servers, Ensemble: about.Kind, Source: about.Source,
		Addresses: r.Ensemble.Addresses(), SessionTimeout: float64(r.profile.SessionTimeout) / float64(time.Millisecond),
		FileSystem: fileSystem(about.DataDir),
	}
	if about.Fsync == "on" || about.Fsync == "off" {
		on := about.Fsync == "on"
		env.Fsync = &on
	}
	return &results.Run{Schema: results.Schema, Profile: r.profile.Name, Seed: r.profile.Seed, Started: time.Now().UTC(), Partial: true,
		Command: r.Command, Root: r.Root, Environment: env, Cells: []results.Cell{}, Exit: results.Exit{Code: 1, Reason: "the run did not end"}}
}

// conclude says how the run ended: the worst of what could not be done, what was violated and what is not known. err is why the run
// was cut short, left why something of it is still on the servers.
func (r *runner) conclude(err, left error) {
	d := r.doc
	d.Finished = time.Now().UTC()
	d.Partial = err != nil
	if err == nil && isClosed(r.stop) { // while the root was being removed: the result is whole, and whoever waits for the run is told
		err = errInterrupted
	}
	codes, reasons := []int{0}, []string(nil)
	for _, err := range []error{err, left} {
		if err == nil {
			continue
		}
		code := 1
		if Interrupted(err) {
			code = 130
		}
		why, _, _ := strings.Cut(err.Error(), "\n") // what follows is a server's log
		codes, reasons = append(codes, code), append(reasons, strings.TrimSuffix(why, " ends:"))
	}
	for _, c := range d.Cells {
		for _, k := range c.Checks {
			where := fmt.Sprintf("%s of %s with %d sessions", k.Name, c.Variant, c.Sessions)
			switch k.Verdict {
			case check.Violated.String():
				codes, reasons = append(codes, 4), append(reasons, "violated: "+where)
			case check.Unknown.String():
				codes, reasons = append(codes, 5), append(reasons, "no evidence: "+where)
			}
		}
		for _, f := range c.Faults {
			if f.Error != "" {
				codes, reasons = append(codes, 1), append(reasons, fmt.Sprintf("fault %s of %s with %d sessions: %s", f.Kind, c.Variant, c.Sessions, f.Error))
			}
		}
		if n := c.Errors["failed"]; n > 0 && c.Operations == 0 {
			codes, reasons = append(codes, 1), append(reasons, fmt.Sprintf("nothing but errors: %s with %d sessions", c.Variant, c.Sessions))
		}
	}
	for _, f := range d.Findings {
		if code, reason := f.Fault(); code != 0 {
			codes, reasons = append(codes, code), append(reasons, reason)
		}
	}
	d.Exit = results.Exit{Code: results.Worst(codes...), Reason: strings.Join(reasons, "; ")}
}

// dialer opens the session of a seat; its seed spreads the sessions over the servers, in every run the same way.
func (r *runner) dialer() func(ctx context.Context, id int) (zk.Session, error) {
	return func(ctx context.Context, id int) (zk.Session, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		addresses := r.Ensemble.Addresses()
		if r.front != nil {
			addresses = r.front.Addresses()
		}
		return r.engine.Dial(ctx, addresses, r.profile.SessionTimeout, r.profile.Seed+uint64(id)+1)
	}
}

func (c *cell) update(phase string) Update {
	return Update{Cell: c.number, Cells: c.of, Variant: c.variant, Sessions: c.spec.sessions, Phase: phase}
}

func (c *cell) report(u Update) {
	if c.Progress != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.Progress(u)
	}
}

func (c *cell) connected(n int) {
	u := c.update(PhaseConnect)
	u.Connected = n
	c.report(u)
}

// progress shows a phase, with the point of the last second if there is one.
func (c *cell) progress(phase string, elapsed time.Duration, p *metrics.Point) {
	u := c.update(phase)
	if u.Elapsed, u.Of, u.Point = elapsed, c.steady.Load().to, p; c.finite() {
		u.Of = 0 // nobody knows
	}
	c.report(u)
}

// procField is the first value of a field in one of Linux's tables; "" where there is none.
func procField(file, field string) string {
	for line := range strings.Lines(readFile(file)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == field {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func memoryMiB() int {
	kib := 0
	fmt.Sscan(procField("/proc/meminfo", "MemTotal"), &kib)
	return kib / 1024
}

func readFile(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	return string(data)
}

// fileSystem is the type of the file system that dir is on, from the longest mount point above it.
func fileSystem(dir string) string {
	best, kind := "", ""
	if dir == "" {
		return ""
	}
	for line := range strings.Lines(readFile("/proc/mounts")) {
		f := strings.Fields(line)
		if len(f) < 3 || len(f[1]) < len(best) {
			continue
		}
		if f[1] == "/" || dir == f[1] || strings.HasPrefix(dir, f[1]+"/") {
			best, kind = f[1], f[2]
		}
	}
	return kind
}
