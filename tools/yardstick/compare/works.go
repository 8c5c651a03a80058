package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/tools/yardstick"
)

// work is one row or more of the table: what the generators are asked to do, and the figures that are read from it.
type work struct {
	title      string
	generators []string
	args       []string
	figures    []figure
	native     []string // what native is asked to do in addition
	profile    string   // of 'zkbench run', which does the work as native; the floor is then native without it, the bare loop of the recipe
}

// again is the generator that does what the floor does, as if it were another one: how much the two differ is how much the machine's other activity changes a
// ratio.
const again = "floor again"

// figure is one number of a work. The limit applies to native: to its ratio to the floor if the floor measures the figure,
// otherwise to the figure itself; 0: the figure is shown and has no limit.
type figure struct {
	title string
	unit  string
	of    func(yardstick.Result) float64
	limit float64
	least bool // the limit is the least acceptable value, not the greatest
}

func cpu(limit float64) figure {
	return figure{"CPU per operation", "us", func(r yardstick.Result) float64 { return r.CPU }, limit, false}
}

func rate(limit float64) figure {
	return figure{"rate", "/s", func(r yardstick.Result) float64 { return r.PerSecond }, limit, true}
}

var works = []work{
	{"getData, 64 sessions", []string{"floor", "gozk", "native"}, []string{"-sessions", "64", "-ops", "200000"}, []figure{cpu(1.25)}, nil, ""},
	{"getData, 2000 sessions", []string{"floor", "gozk", "native"}, []string{"-sessions", "2000", "-ops", "200000"}, []figure{cpu(1.25), rate(0.95)}, nil, ""},
	{"getChildren of 1008 names, 32 sessions", []string{"floor", "gozk", "native"},
		[]string{"-sessions", "32", "-ops", "20000", "-children", "1008"}, []figure{cpu(1.25)}, nil, ""},
	{"a list that nobody has read before: each session of zkbench lists a znode of its own", []string{"floor", "native"},
		[]string{"-sessions", "32", "-ops", "20000", "-children", "1008"}, []figure{cpu(2)}, []string{"-own"}, ""},
	{"idle, 5000 sessions", []string{"gozk", "native"}, []string{"-sessions", "5000", "-ops", "0"},
		[]figure{{"resident memory per session", "KiB", func(r yardstick.Result) float64 { return r.IdleKiB }, 5, false}}, nil, ""},
	{"hand-off of a predecessor lock; floor: one delete and one list", []string{"floor", "native"}, []string{"-handoff", "500"},
		[]figure{{"median time", "us", func(r yardstick.Result) float64 { return r.HandoffUs + r.DeleteList }, 1.15, false}}, nil, ""},
	{"predecessor lock, 10000 sessions in one process, 10 a lock", []string{"native"}, []string{"-sessions", "10000", "-recipe", "lock", "-objects", "1000"},
		[]figure{{"most resident memory", "MiB", func(r yardstick.Result) float64 { return r.PeakMiB }, 1024, false}}, nil, ""},
	beside("1000 sessions, 100 predecessor locks", "lock", 1000, 100, "workload: lock\nvariants: [predecessor]\nlocks: 100\nhold: 0s\n"),
	beside("64 sessions, one predecessor lock", "lock", 64, 1, "workload: lock\nvariants: [predecessor]\nlocks: 1\nhold: 0s\n"),
	beside("5000 sessions, 500 predecessor locks", "lock", 5000, 500, "workload: lock\nvariants: [predecessor]\nlocks: 500\nhold: 0s\n"),
	beside("100 sessions, 50 fifo queues of at most 10 items", "queue", 100, 50, "workload: queue\nvariants: [fifo]\nqueues: 50\nbound: 10\nhold: 0s\n"),
	beside("1000 sessions that read 100 znodes (operations)", "reads", 1000, 100, "workload: operations\nvariants: [persistent]\nmix: {get: 100}\n"),
}

// beside is the work of a run beside the same recipe in a loop that nobody observes. The run has everything that makes it one: arrivals, observation,
// recording, intervals. The checks run afterwards and have a benchmark of their own.
func beside(title, recipe string, sessions, objects int, profile string) work {
	return work{"all that 'run' adds: " + title + "; floor: the same in a loop, unobserved", []string{"floor", again, "native"},
		[]string{"-recipe", recipe, "-sessions", strconv.Itoa(sessions), "-objects", strconv.Itoa(objects)}, []figure{cpu(1.15), rate(0.98)}, nil,
		fmt.Sprintf("name: overhead\ndescription: A full load, beside its bare loop.\n%ssessions: [%d]\nsession_timeout: 30s\n", profile, sessions)}
}

// bench holds the built generators and the servers.
type bench struct {
	dir     string
	servers string
	length  time.Duration // of the loops of recipes and the steady phase of runs, after a warm-up of a fifth of it
}

func (b *bench) warmup() time.Duration { return b.length / 5 }

// build builds the programs. If elsewhere is the directory of another module, the floor and gozk are built from there: yardsticks that were
// not written together with the client.
func build(ctx context.Context, dir, elsewhere string) (*bench, error) {
	const at = "github.com/zkbench/zkbench/tools/yardstick/"
	builds := [][]string{{"build", "-o", dir, "./cmd/zkbench"}, {"build", "-C", "tools", "-o", dir, at + "floor", at + "gozk", at + "native"}}
	if _, err := os.Stat(filepath.Join(elsewhere, "go.mod")); elsewhere != "" && err == nil {
		fmt.Fprintln(os.Stderr, "the floor and gozk are those of", elsewhere)
		builds = [][]string{{"build", "-o", dir, "./cmd/zkbench"}, {"build", "-C", "tools", "-o", dir, at + "native"}, {"build", "-C", elsewhere, "-o", dir, "./floor", "./gozk"}}
	}
	for _, args := range builds {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("go build: %w", err)
		}
	}
	return &bench{dir: dir}, nil
}

// measured holds the figures of a work: by figure, by generator, one value for each run.
type measured struct {
	work
	values []map[string][]float64
}

// measure runs the generators in turn, each time in another order, so that the machine's other activity affects them all alike.
func (b *bench) measure(ctx context.Context, ws []work, runs int) ([]measured, error) {
	var all []measured
	if w := ws[0]; w.profile != "" { // servers that have just started are slow
		if _, err := b.do(ctx, w, "floor"); err != nil {
			return nil, err
		}
	}
	for _, w := range ws {
		m := measured{work: w, values: make([]map[string][]float64, len(w.figures))}
		for i := range m.values {
			m.values[i] = map[string][]float64{}
		}
		for run := range runs {
			for i := range w.generators {
				g := w.generators[(run+i)%len(w.generators)]
				r, err := b.do(ctx, w, g)
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %w", w.title, g, err)
				}
				for j, f := range w.figures {
					m.values[j][g] = append(m.values[j][g], f.of(r))
				}
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// do makes a generator do a piece of work.
func (b *bench) do(ctx context.Context, w work, generator string) (yardstick.Result, error) {
	switch {
	case w.profile != "" && generator == "native":
		return b.carryOut(ctx, fmt.Sprintf("%swarmup: %v\nduration: %v\n", w.profile, b.warmup(), b.length))
	case w.profile != "":
		return b.run(ctx, "native", b.timed(w.args))
	case generator == "native":
		return b.run(ctx, generator, slices.Concat(b.timed(w.args), w.native))
	}
	return b.run(ctx, generator, w.args)
}

// timed adds the times of native's loops to its arguments.
func (b *bench) timed(args []string) []string {
	return append(slices.Clone(args), "-warmup", b.warmup().String(), "-for", b.length.String())
}

// carryOut makes 'zkbench run' carry out a profile of one cell.
func (b *bench) carryOut(ctx context.Context, profile string) (r yardstick.Result, err error) {
	dir, err := os.MkdirTemp(b.dir, "run-")
	if err != nil {
		return r, err
	}
	file, out := filepath.Join(dir, "profile.yaml"), filepath.Join(dir, "result")
	if err := os.WriteFile(file, []byte(profile), 0o644); err != nil {
		return r, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, "zkbench"), "run", file, "--quiet", "--servers", b.servers, "--out", out)
	if said, err := cmd.CombinedOutput(); err != nil {
		return r, fmt.Errorf("zkbench run: %w\n%s", err, said)
	}
	run, err := results.Read(out)
	if err != nil {
		return r, err
	}
	c := run.Cells[0]
	r = yardstick.Result{Generator: "zkbench run", Sessions: c.Sessions, Operations: int(c.Operations), PerSecond: c.Throughput, CPU: c.Generator.CPUPerOp}
	return r, json.NewEncoder(os.Stderr).Encode(r)
}

func (b *bench) run(ctx context.Context, generator string, args []string) (r yardstick.Result, err error) {
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, generator), append([]string{"-servers", b.servers}, args...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return r, err
	}
	fmt.Fprint(os.Stderr, out.String())
	return r, json.Unmarshal(out.Bytes(), &r)
}
