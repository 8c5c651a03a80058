package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// document is the result before the first cell.
func (r *runner) document() *results.Run {
	return &results.Run{Schema: results.Schema, Profile: r.profile.Name, Seed: r.profile.Seed, Started: time.Now().UTC(), Partial: true,
		Command: r.Command, Share: r.shareResult(), Root: r.Root, Environment: r.described(), Cells: []results.Cell{}, Exit: results.Exit{Code: 1, Reason: "the run did not finish"}}
}

// described is the ensemble that is there, and this machine, as the document has them.
func (r *runner) described() results.Environment {
	about, env := r.Ensemble.Describe(), EnvironmentOf(r.Ensemble)
	env.Zkbench, env.Engine, env.SessionTimeout = r.Version, r.engine.Name, inMillis(r.profile.SessionTimeout)
	env.FileSystem, env.FsyncMs, env.Calibration = fileSystem(about.DataDir), fsyncTime(about.DataDir), r.Calibration.For(env)
	return env
}

// EnvironmentOf is an ensemble and this machine as documents have them, without what belongs to one run and what has to be measured.
func EnvironmentOf(e ensemble.Ensemble) results.Environment {
	about := e.Describe()
	env := results.Environment{
		Go: runtime.Version(), CPU: procField("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), MemoryMiB: memoryMiB(),
		Kernel: strings.TrimSpace(readFile("/proc/sys/kernel/osrelease")), Java: about.Java, ZooKeeper: about.Version, Servers: about.Servers, Ensemble: about.Kind,
		Source: about.Source, Addresses: e.Addresses(), Encrypted: about.Encrypted, ServerCPUs: about.CPUs,
	}
	if about.Fsync == "on" || about.Fsync == "off" {
		env.Fsync = new(about.Fsync == "on")
	}
	return env
}

// conclude says how the run ended: the worst of what could not be done, what was violated and what is not known. err is why the run
// was cut short, left why something of it is still on the servers.
func (r *runner) conclude(err, left error) {
	d := r.doc
	d.Finished = time.Now().UTC()
	d.Partial = err != nil || len(d.Cells) < len(r.planned) // something is left on one ensemble, and the next were not begun
	if err == nil && isClosed(r.stop) {                     // while the root was being removed: the result is whole, and the caller is told
		err = r.interruption()
	}
	codes, reasons := []int{0}, []string(nil)
	add := func(code int, format string, args ...any) {
		codes, reasons = append(codes, code), append(reasons, fmt.Sprintf(format, args...))
	}
	for _, err := range []error{err, left} {
		if err != nil {
			why, _, _ := strings.Cut(err.Error(), "\n") // what follows is a server's log
			add(r.ending(err), "%s", strings.TrimSuffix(why, " ends:"))
		}
	}
	remedy := " (saturation: allowed in the profile accepts that)"
	for i, c := range d.Cells {
		where := fmt.Sprintf("%s with %s", c.Variant, phrase.Count(c.Sessions, "session"))
		for _, k := range c.Checks {
			switch {
			case k.Verdict == check.Violated.String():
				add(4, "violated: %s of %s", k.Name, where)
			case k.Verdict == check.Unknown.String() && !k.Uncontended && !r.uprooted(): // which has been said
				add(5, "no evidence: %s of %s", k.Name, where)
			}
		}
		for _, f := range c.Faults {
			if f.Error != "" {
				add(1, "fault %s of %s: %s", f.Kind, where, f.Error)
			}
		}
		if c.Saturated && r.profile.Saturation != profiles.SaturationAllowed {
			add(5, "the offered load was not sustained: %s at %v/s: %s%s", where, c.RatePerS, strings.TrimPrefix(saturatedNote(c), "saturated: "), remedy)
			remedy = ""
		}
		if n := c.Errors["failed"]; n > 0 && c.Operations == 0 {
			add(1, "nothing but errors: %s", where)
		} else if c.Operations == 0 && c.Throughput == 0 && !c.Partial { // an open loop may have done what was due before
			add(5, "no evidence: no operation of %s in the steady phase: %s", where, r.idle[i])
		}
	}
	for _, f := range d.Findings {
		if code, reason := f.Fault(); code != 0 {
			add(code, "%s", reason)
		}
	}
	missed, why := r.judgeGates()
	codes, reasons = append(codes, missed...), append(reasons, why...)
	d.Exit = results.Exit{Code: results.Worst(codes...), Reason: strings.Join(reasons, "; ")}
}

// dialSeat opens the session of a seat.
func (r *runner) dialSeat(ctx context.Context, id int) (zk.Session, error) {
	s, err := r.dial(ctx, r.addresses(), r.profile.Seed+uint64(id)+1)
	if err != nil {
		return nil, err
	}
	return zk.Within(s, r.Root), nil
}

// addresses are where the sessions of the cells connect to.
func (r *runner) addresses() []string {
	if r.front != nil {
		return r.front.Addresses()
	}
	return r.Ensemble.Addresses()
}

func (c *cell) update(phase string) Update {
	u := Update{Cell: c.number, Cells: c.of, Tag: c.tag(), Variant: c.variant, Sessions: c.seats(), Rate: c.rate, Load: c.loadText(), Phase: phase,
		Timed: "response", Permits: workloads.Permits(c.work)}
	for _, m := range c.work.Measures() {
		switch {
		case m.Role != workloads.Operation:
		case u.Unit == "":
			u.Unit = m.Unit
		case u.Unit != m.Unit:
			u.Unit = "operations"
		}
		if m.Timed && m.Role == workloads.Part {
			u.Timed = strings.ReplaceAll(m.Op.String(), "-", " ")
		}
	}
	return u
}

func (c *cell) connected(n int) {
	u := c.update(PhaseConnect)
	u.Connected = n
	c.report(u)
}

// progress shows a phase without a load.
func (c *cell) progress(phase string) { c.report(c.during(phase, 0)) }

// during is a phase at an offset from the origin: how much of it has passed, when it ends, and how much is left of the run.
func (c *cell) during(phase string, now time.Duration) Update {
	u := c.update(phase)
	u.Elapsed = now
	steady := *c.steady.Load()
	switch {
	case c.finite() && phase == PhaseSteady:
		u.Passed = now // it ends when its work is done
	case phase == PhaseWarmup:
		u.Passed, u.Of = now, c.profile.Warmup+c.ripening
		if c.rate == 0 && now >= u.Of && c.first != nil && !c.warm.Load() { // it goes on until everybody has had a turn
			u.FirstTurns, u.Of = int(c.first.left.Load()), warmupPatience*c.profile.Warmup
		} else if c.warm.Load() {
			u.Of = steady.from
		}
	case phase == PhaseSteady:
		u.Passed, u.Of = now-steady.from, steady.to-steady.from
	case phase == PhaseOvertime:
		u.Passed, u.Of = now-steady.to, c.overtime()
	case phase == PhaseDrain:
		u.Passed, u.Of = now-steady.to-c.overtime(), c.profile.Drain
	}
	if left := cellTook(c.spec) - time.Since(c.set); c.rest >= 0 && !c.finite() {
		if phase == PhaseSteady {
			left = max(left, u.Of-u.Passed)
		}
		u.Left = c.rest + max(left, 0)
	} else if c.rest > 0 {
		u.Left = c.rest
	}
	return u
}

// loadText is what the cell's load has beside its variant and sessions: 'rate 200/s, readers 90'.
func (c *cell) loadText() string {
	var words []string
	if c.rate > 0 {
		words = append(words, fmt.Sprintf("rate %s/s", strconv.FormatFloat(c.rate, 'f', -1, 64)))
	}
	for _, own := range append(c.apart, c.point.Own()...) {
		if own.Axis || c.profile.Varied(own.Key) {
			words = append(words, fmt.Sprintf("%s %v", own.Key, own.Value))
		}
	}
	return strings.Join(words, ", ")
}

// connectedNow is how many sessions have a connection.
func (c *cell) connectedNow() int {
	n := 0
	for _, s := range c.clients.all() {
		if !isClosed(zk.Disconnected(s)) {
			n++
		}
	}
	return n
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
