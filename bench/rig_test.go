package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/ensemble"
	zkbarrier "github.com/zkbench/zkbench/recipes/barrier"
	zkcommit "github.com/zkbench/zkbench/recipes/commit"
	zkelection "github.com/zkbench/zkbench/recipes/election"
	zklock "github.com/zkbench/zkbench/recipes/lock"
	zkmembership "github.com/zkbench/zkbench/recipes/membership"
	"github.com/zkbench/zkbench/recipes/published"
	zkqueue "github.com/zkbench/zkbench/recipes/queue"
	zksemaphore "github.com/zkbench/zkbench/recipes/semaphore"
	zksetting "github.com/zkbench/zkbench/recipes/setting"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// rig is a run on an ensemble in memory. It is also the run's ensemble.Ensemble and its engine. It has to be used in a synctest bubble,
// which fails if a goroutine of the run is left at its end.
type rig struct {
	t      *testing.T
	ens    *zktest.Ensemble
	config Config
	stop   chan struct{}

	mu       sync.Mutex
	silent   bool                              // no server answers
	values   map[string]float64                // further values that the server reports
	grants   func(seat int) time.Duration      // the session timeout, if it is not the requested one
	ended    error                             // a server ended by itself
	problems []ensemble.Problem                // findings of the preflight
	refuse   func(seat int) error              // why a session is not opened; the administrative one is seat -1, the probes have lower numbers
	sessions map[int][]*zktest.Session         // opened sessions, by seat
	opened   func(seat int, s *zktest.Session) // called for each session
	updates  []load.Update
	on       func(load.Update)
}

const seed = 7

// newRig returns a rig for a profile: lines of YAML, after the defaults of these tests.
func newRig(t *testing.T, cfg zktest.Config, lines ...string) *rig {
	t.Helper()
	r := &rig{t: t, ens: zktest.New(cfg), stop: make(chan struct{}), sessions: map[int][]*zktest.Session{}}
	text := append([]string{"name: test", "seed: 7", "engine: memory"}, lines...)
	for _, def := range []string{"workload: lock", "variants: [predecessor]", "sessions: 4", "warmup: 1s", "duration: 4s", "hold: 5ms"} {
		key, _, _ := strings.Cut(def, ":")
		given := func(key string) bool {
			return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+":") })
		}
		if key == "hold" && (slices.Contains(lines, "workload: config") || slices.Contains(lines, "workload: sessions")) {
			continue
		}
		if untimed := (given("barriers") || given("transactions")) && (key == "warmup" || key == "duration"); !given(key) && !untimed {
			text = append(text, def)
		}
	}
	p, err := catalogue.Parse("test.yaml", []byte(strings.Join(text, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := results.Create(t.TempDir()+"/run", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	r.config = Config{Profile: p, Ensemble: r, Name: "test-1", Out: dir, Version: "test", Stop: r.stop, Progress: r.update,
		Setup: Setup{Workloads: []workloads.Kind{workloads.Driving(workloads.Locks(slices.Concat(zklock.Variants(), published.Locks())), drivers.CanLock, drivers.Lock, workloads.NewLock),
			workloads.Driving(workloads.RWLocks(zklock.RWVariants()), drivers.CanReadWrite, drivers.ReadWrite, workloads.NewReadWrite), workloads.Driving(workloads.Queues(zkqueue.Variants()), drivers.CanQueue, drivers.Queue, workloads.NewQueue),
			workloads.PriorityQueues(zkqueue.PriorityVariants()), workloads.Barriers(zkbarrier.Variants()), workloads.DoubleBarriers(zkbarrier.DoubleVariants()),
			workloads.Rendezvouses(zkbarrier.RendezvousVariants()), workloads.Commits(zkcommit.Variants()), workloads.Elections(zkelection.Variants()),
			workloads.MultiLocks(zklock.MultiVariants()), workloads.Driving(workloads.Semaphores(zksemaphore.Variants()), drivers.CanSemaphore, drivers.Semaphore, workloads.NewSemaphore), workloads.Configs(zksetting.Variants()),
			workloads.Groups(zkmembership.Variants()), workloads.DelayQueues(zkqueue.DelayVariants()), workloads.Revocables(zklock.RevocableVariants()), workloads.OpenedSessions()},
			Engines: []target.Engine{{Name: "memory", Persistent: true, Open: r.open}}}}
	return r
}

func (r *rig) open(ctx context.Context, d target.Dialing) (zk.Session, error) {
	seat := int(d.Seed) - seed - 1
	r.mu.Lock()
	silent, refuse, opened, grants := r.silent, r.refuse, r.opened, r.grants
	r.mu.Unlock()
	if silent {
		<-ctx.Done()
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	if refuse != nil {
		if err := refuse(seat); err != nil {
			return nil, err
		}
	}
	if grants != nil {
		d.Timeout = grants(seat)
	}
	s := r.ens.DialTimeout(d.Timeout)
	r.mu.Lock()
	r.sessions[seat] = append(r.sessions[seat], s)
	r.mu.Unlock()
	if opened != nil {
		opened(seat, s)
	}
	return s, nil
}

// session returns the first session of a seat.
func (r *rig) session(seat int) zk.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions[seat][0]
}

// set changes the rig during the run.
func (r *rig) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// silence makes the servers stop answering for good.
func (r *rig) silence() {
	r.set(func() { r.silent = true })
	for _, s := range r.ens.Sessions() {
		r.ens.Partition(s)
	}
}

func (r *rig) update(u load.Update) {
	r.mu.Lock()
	r.updates = append(r.updates, u)
	on := r.on
	r.mu.Unlock()
	if on != nil {
		on(u)
	}
}

// at calls do once, when the run is in a phase and its load has taken at least the time elapsed.
func (r *rig) at(phase string, elapsed time.Duration, do func()) {
	var once sync.Once
	r.on = func(u load.Update) {
		if u.Phase == phase && u.Elapsed >= elapsed {
			once.Do(do)
		}
	}
}

func (r *rig) interrupt() { close(r.stop) }

// run carries out the profile, and compares the document with the one in the directory.
func (r *rig) run() (*results.Run, error) {
	r.t.Helper()
	return r.runIn(r.t.Context())
}

func (r *rig) runIn(ctx context.Context) (*results.Run, error) {
	r.t.Helper()
	doc, err := Run(ctx, r.config)
	if doc == nil {
		return nil, err
	}
	kept, readErr := results.Read(r.config.Out.Path())
	if readErr != nil {
		r.t.Fatalf("no document was written: %v", readErr)
	}
	if kept.Exit != doc.Exit || kept.Partial != doc.Partial || len(kept.Cells) != len(doc.Cells) || !kept.Finished.Equal(doc.Finished) {
		r.t.Errorf("written: exit %v, partial %v, %d cells; returned: exit %v, partial %v, %d cells",
			kept.Exit, kept.Partial, len(kept.Cells), doc.Exit, doc.Partial, len(doc.Cells))
	}
	consistent(r.t, r.config.Out.Path())
	return doc, err
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

// mustRun is run for a profile that must not fail.
func (r *rig) mustRun() *results.Run {
	r.t.Helper()
	doc, err := r.run()
	if err != nil {
		r.t.Fatal(err)
	}
	if doc.Exit.Code != 0 || doc.Partial {
		r.t.Fatalf("exit %d: %s, partial %v", doc.Exit.Code, doc.Exit.Reason, doc.Partial)
	}
	r.clean()
	return doc
}

// clean asserts that nothing is left on the servers.
func (r *rig) clean() {
	r.t.Helper()
	for path := range r.ens.Tree() {
		r.t.Errorf("left on the servers: %s", path)
	}
	if n := len(r.ens.Sessions()); n > 0 {
		r.t.Errorf("%d sessions are left open", n)
	}
}

// The rig as an ensemble.Ensemble.

func (r *rig) Addresses() []string { return []string{"memory:1"} }
func (r *rig) Servers() int        { return 1 }
func (r *rig) Close() error        { return nil }

func (r *rig) Describe() ensemble.Description {
	return ensemble.Description{Kind: "memory", Version: "3.9.0", Servers: 1, Fsync: "off"}
}

func (r *rig) Preflight(context.Context, ensemble.Need) []ensemble.Problem { return r.problems }

func (r *rig) Stats(context.Context) []ensemble.ServerStats {
	r.mu.Lock()
	silent, values := r.silent, maps.Clone(r.values)
	r.mu.Unlock()
	st := ensemble.ServerStats{Server: 1, Address: "memory:1"}
	if silent {
		st.Err = ensemble.ErrUnreachable
		return []ensemble.ServerStats{st}
	}
	ops := int64(0)
	for _, n := range r.ens.Counts().Ops {
		ops += int64(n)
	}
	st.Stats = ensemble.Stats{State: "standalone", Watches: int64(len(r.ens.Watches())), Ephemerals: int64(len(r.ens.Ephemerals())),
		Znodes: int64(len(r.ens.Tree())), PacketsReceived: ops, PacketsSent: ops, Values: values}
	return []ensemble.ServerStats{st}
}

func (r *rig) Ended() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// checkOf returns a check of a cell by name.
func checkOf(t *testing.T, c results.Cell, name string) results.Check {
	t.Helper()
	i := slices.IndexFunc(c.Checks, func(k results.Check) bool { return k.Name == name })
	if i < 0 {
		t.Fatalf("no check %s among %v", name, c.Checks)
	}
	return c.Checks[i]
}

var errRefused = errors.New("connection refused")

// catalogue has all workloads as profiles name them.
var catalogue = Setup{Workloads: []workloads.Kind{workloads.Driving(workloads.Locks(nil), "", drivers.Lock, workloads.NewLock),
	workloads.MultiLocks(nil), workloads.Driving(workloads.RWLocks(nil), "", drivers.ReadWrite, workloads.NewReadWrite), workloads.Revocables(nil),
	workloads.Driving(workloads.Semaphores(nil), "", drivers.Semaphore, workloads.NewSemaphore), workloads.Driving(workloads.Queues(nil), "", drivers.Queue, workloads.NewQueue), workloads.PriorityQueues(nil), workloads.DelayQueues(nil), workloads.Elections(nil),
	workloads.Barriers(nil), workloads.DoubleBarriers(nil), workloads.Rendezvouses(nil), workloads.Counters(nil, nil), workloads.Groups(nil),
	workloads.Configs(nil), workloads.Commits(nil), workloads.OpenedSessions()}}.Catalogue()

func dues(a plan.Arrivals, end time.Duration) []time.Duration {
	var all []time.Duration
	for due := a.Next(0); due < end; due = a.Next(0) {
		all = append(all, due)
	}
	return all
}
