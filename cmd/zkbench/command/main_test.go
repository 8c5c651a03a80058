package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

var servers = ensembletest.Shared{Strict: true}

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	os.Setenv(childEnv, "1") // when zkbench starts itself, as a driver or a client of fencing, this binary runs as zkbench
	os.Exit(servers.Run(m))
}

// terminal is a command whose user watches its output.
type terminal struct {
	t           *testing.T
	setup       bench.Setup
	out, errors console
	signals     chan os.Signal
}

func newTerminal(t *testing.T) *terminal {
	return &terminal{t: t, setup: brokenSetup(), signals: make(chan os.Signal, 2)}
}

// when calls do the first time that the command's standard error contains text.
func (m *terminal) when(text string, do func()) *terminal {
	m.errors.on, m.errors.do = text, do
	return m
}

// interruptAt sends a signal when the command's standard error contains text, and more right after it.
func (m *terminal) interruptAt(text string, times int) *terminal {
	return m.when(text, func() { m.interrupt(times) })
}

func (m *terminal) interrupt(times int) {
	for range times {
		m.signals <- os.Interrupt
	}
}

// ending is a finished command.
type ending struct {
	t              *testing.T
	code           int
	stdout, stderr string
}

func (m *terminal) run(args ...string) ending {
	m.t.Helper()
	a := &app{stdin: strings.NewReader(""), stdout: &m.out, stderr: &m.errors, signals: m.signals, setup: m.setup}
	code := a.main(m.t.Context(), args)
	return ending{m.t, code, m.out.String(), m.errors.String()}
}

// zkbench runs one command line.
func zkbench(t *testing.T, args ...string) ending {
	t.Helper()
	return newTerminal(t).run(args...)
}

// wrap matches where a report continues in the next line.
var wrap = regexp.MustCompile(`\n +`)

// want asserts the exit code, and that standard error and standard output together contain every text, wherever lines are wrapped.
func (o ending) want(code int, texts ...string) ending {
	o.t.Helper()
	if o.code != code {
		o.t.Errorf("exit code %d, want %d", o.code, code)
	}
	said := o.stdout + o.stderr
	unwrapped := wrap.ReplaceAllString(said, " ")
	for _, text := range texts {
		if !strings.Contains(said, text) && !strings.Contains(unwrapped, text) {
			o.t.Errorf("the command does not say %q", text)
		}
	}
	if o.t.Failed() {
		o.t.Logf("stdout:\n%s\nstderr:\n%s", o.stdout, o.stderr)
	}
	return o
}

// wantEnd is want for a run that ends by itself and finds nothing wrong. On a busy machine it may lack evidence, which is not what is tested.
func (o ending) wantEnd(texts ...string) ending {
	o.t.Helper()
	if o.code == exitUnknown {
		return o.want(exitUnknown, texts...)
	}
	return o.want(exitOK, texts...)
}

// result reads the document that the command has written, and asserts that it does not contradict itself.
func result(t *testing.T, dir string) *results.Run {
	t.Helper()
	consistent(t, dir)
	r, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// consistent asserts that a result does not contradict itself.
func consistent(t *testing.T, dir string) {
	t.Helper()
	contradictions, err := results.Validate(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range contradictions {
		t.Errorf("the result contradicts itself: %s", c)
	}
}

// console keeps what is written.
type console struct {
	mu   sync.Mutex
	text bytes.Buffer
	on   string
	do   func()
}

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.text.Write(p)
	do := c.do
	if do != nil && strings.Contains(c.text.String(), c.on) {
		c.do = nil
	} else {
		do = nil
	}
	c.mu.Unlock()
	if do != nil {
		do()
	}
	return len(p), nil
}

func (c *console) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// small returns the file of a profile of a fraction of a second. The given lines replace its own lines by key.
func small(t *testing.T, lines ...string) string {
	t.Helper()
	all := map[string]string{"name": "small", "workload": "lock", "variants": "predecessor", "sessions": "4", "hold": "1ms", "warmup": "100ms",
		"duration": "300ms", "drain": "2s", "session_timeout": "4s", "ensemble": "local:1"}
	for _, line := range lines {
		key, value, _ := strings.Cut(line, ": ")
		all[key] = value
	}
	var text strings.Builder
	for key, value := range all {
		fmt.Fprintf(&text, "%s: %s\n", key, value)
	}
	return file(t, "small.yaml", text.String())
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// evident carries out a run, and repeats it for longer if it ended without enough evidence (exit code 5) or a cell did hardly anything: a busy machine
// needs more time than the profile's duration to show what a quiet one shows. The directory has the result of the last run.
func evident(t *testing.T, args ...string) (o ending, dir string) {
	t.Helper()
	for _, longer := range []string{"", "5s", "60s"} {
		dir = out(t)
		all := slices.Concat(args, []string{"--out", dir})
		if longer != "" {
			all = append(all, "--set", "duration="+longer)
		}
		if o = zkbench(t, all...); o.code == exitUnknown {
			continue
		}
		if r, err := results.Read(dir); err != nil || !slices.ContainsFunc(r.Cells, func(c results.Cell) bool { return c.Operations < 10 }) {
			break
		}
	}
	return o, dir
}

// out returns the path of a directory for a result, which does not exist yet.
func out(t *testing.T) string { return filepath.Join(t.TempDir(), "result") }

// session opens a session for the test itself.
func session(t *testing.T, address string) zk.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, err := wire.Dial(ctx, wire.Config{Servers: []string{address}, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// wantEmpty asserts that the servers hold no znode but ZooKeeper's own.
func wantEmpty(t *testing.T, address string) {
	t.Helper()
	s := session(t, address)
	if err := zk.CatchUp(t.Context(), s, "/"); err != nil {
		t.Fatal(err)
	}
	names, _, err := s.Children(t.Context(), "/")
	names = slices.DeleteFunc(names, func(name string) bool { return "/"+name == ensembletest.Garden })
	if err != nil || !slices.Equal(names, []string{"zookeeper"}) {
		runs, _, _ := s.Children(t.Context(), root.DefaultBase)
		t.Errorf("the servers' root holds %v (%v), want nothing but 'zookeeper'; below %s: %v", names, err, root.DefaultBase, runs)
	}
}

func wantMissing(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Stat(%s) = %v, want that it is not there", path, err)
	}
}

// javas returns the pids of the ZooKeeper servers that are children of this process.
func javas(t *testing.T) []int { return slices.Collect(maps.Keys(children(t, "QuorumPeerMain"))) }

// children returns the child processes of this one whose command lines contain a word, and their states as the letters of ps. Processes
// that have ended are not included.
func children(t *testing.T, word string) map[int]string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		cmd, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if len(fields) > 1 && fields[0] != "Z" && fields[1] == strconv.Itoa(os.Getpid()) && bytes.Contains(cmd, []byte(word)) {
			found[pid] = fields[0]
		}
	}
	return found
}
