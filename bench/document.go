package bench

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
)

// document returns the result before the first cell.
func (r *runner) document() *results.Run {
	return &results.Run{Schema: results.Schema, Profile: r.target.Profile.Name, Seed: r.target.Profile.Seed, Started: time.Now().UTC(), Partial: true,
		Command: r.Command, Share: r.shareResult(), Root: r.Root, Environment: r.described(), Cells: []results.Cell{}, Exit: results.Exit{Code: 1, Reason: "the run did not finish"}}
}

// described returns the current ensemble and this machine as the document describes them.
func (r *runner) described() results.Environment {
	about, env := r.Ensemble.Describe(), EnvironmentOf(r.Ensemble)
	env.Zkbench, env.Engine, env.SessionTimeout = r.Version, r.target.Engine.Name, outcome.Millis(r.target.Profile.SessionTimeout)
	env.Options = r.options
	env.Java = cmp.Or(env.Java, r.options["java.version"])
	env.ZooKeeperAsked = r.target.Profile.ZooKeeperOf()
	env.FileSystem, env.FsyncMs, env.Calibration = fileSystem(about.DataDir), fsyncTime(about.DataDir), r.Calibration.For(env)
	return env
}

// EnvironmentOf returns an ensemble and this machine as documents describe them, without what belongs to one run or has to be measured.
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

// conclude records how the run ended. err is why it was cut short, and left is why something of it is still on the servers.
func (r *runner) conclude(err, left error) {
	d := &r.results
	d.Partial = err != nil || len(d.Cells) < len(r.planned) // if something is left on one ensemble, the next ones are not started
	if err == nil && load.IsClosed(r.stop) {                // while the root was being removed: the result is complete, but the exit code says so
		err = r.interruption()
	}
	var problems []outcome.Problem
	for _, err := range []error{err, left} {
		switch {
		case err == nil:
		case Interrupted(err):
			problems = append(problems, outcome.Problem{Code: 130, Err: err})
		default:
			problems = append(problems, outcome.Problem{Code: fleet.ExitCode(err, len(d.Cells) > 0), Err: err})
		}
	}
	d.Profile, d.Shared = r.target.Profile, !r.Share.Whole()
	d.Conclude(problems, r.failure.RootLost())
}

// procField returns the first value of a field in one of Linux's tables, or "" if there is none.
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

// fileSystem returns the type of the file system that dir is on, from the longest mount point above it.
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
