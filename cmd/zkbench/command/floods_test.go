package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/bench/target"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/cmd/zkbench/internal/calibrate"
	"github.com/zkbench/zkbench/ensemble/limits"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

var everyRefusal = flag.Bool("floods", false, "let the ensemble in memory refuse every kind of request with every error code in every phase of every workload")

// refusedKinds are the kinds of requests that the ensemble in memory refuses.
//
// Other kinds are left out: nothing reads the answer to removeWatches, and zkbench never sends getACL and setACL.
var refusedKinds = []zk.Kind{zk.KindCreate, zk.KindDelete, zk.KindSet, zk.KindGet, zk.KindExists, zk.KindChildren, zk.KindMulti, zk.KindSync, zk.KindAddWatch,
	zk.KindSetWatches, zk.KindAuth}

// refusalCodes are the error codes of the wire protocol, and an unknown one.
var refusalCodes = []int32{-1, -2, -3, -4, -5, -6, -7, -8, -100, -101, -102, -103, -108, -110, -111, -112, -114, -115, -118, -119, -120, -121, -122, -123, -124, -125, -127, -9999, closes}

// closes stands among the codes for no answer: the servers close the connection on the request, as they do on one that they do not know.
const closes int32 = 1

// phasesRefused are the phases from which a run's requests are refused; "" means from its first request.
var phasesRefused = []string{"", outcome.PhaseConnect, outcome.PhaseWarmup, outcome.PhaseSteady, outcome.PhaseDrain, outcome.PhaseJudge}

// refusal is one kind of request that is refused with a code, from a phase on.
type refusal struct {
	kind  zk.Kind
	code  int32
	phase string
}

func (r refusal) String() string {
	if r.code == closes {
		return fmt.Sprintf("%v closes the connection from %q on", r.kind, r.phase)
	}
	return fmt.Sprintf("%v %d from %q on", r.kind, r.code, r.phase)
}

// refusals returns all refusals or, without -floods, every n-th, starting with another one in each test.
func refusals(phases []string, n, begin int) (all []refusal) {
	i := begin
	for _, kind := range refusedKinds {
		for _, code := range refusalCodes {
			if kind == zk.KindAuth && code != -115 || kind == zk.KindExists && code == -101 {
				continue // to a client any code is this one; an answer, not a refusal
			}
			if kind == zk.KindSetWatches && code == closes {
				continue // the ensemble in memory arms them with the connection
			}
			for _, phase := range phases {
				if i++; *everyRefusal || i%n == 0 {
					all = append(all, refusal{kind, code, phase})
				}
			}
		}
	}
	return all
}

// flooded is an ensemble in memory that refuses requests and counts them.
type flooded struct {
	memory
	most     int  // requests; each further one takes a second, so that time passes in a loop that does not wait
	stranger bool // it refuses credentials

	mu      sync.Mutex
	refuses bool
	sent    int
	last    time.Time                 // when it last did so; zero for never
	cuts    []func(op zktest.Op) bool // each says at which request the connection breaks, once
}

func newFlooded(r refusal, most int) *flooded {
	m := &flooded{most: most, stranger: r.kind == zk.KindAuth}
	hook := zktest.Refusing(r.kind, r.code, func(zktest.Op) bool { return m.on(0) })
	if r.code == closes {
		hook = func(op zktest.Op) zktest.Action {
			return zktest.Action{Lose: !op.Applied && op.Kind == r.kind && m.on(0)}
		}
	}
	if r.kind == zk.KindSetWatches || r.kind == zk.KindAuth { // these come first on a new connection: one breaks every tenth of a second
		hook = func(op zktest.Op) zktest.Action {
			if op.Applied || !m.on(100*time.Millisecond) {
				return zktest.Action{}
			}
			return zktest.Action{Lose: true, Refuse: zk.FromCode(r.code)}
		}
	}
	m.memory.Ensemble = zktest.New(zktest.Config{OpLatency: 2 * time.Millisecond, EventLatency: time.Millisecond, Hook: func(op zktest.Op) zktest.Action {
		if !op.Applied {
			m.mu.Lock()
			m.sent++
			over := m.sent > m.most
			m.mu.Unlock()
			if over {
				time.Sleep(time.Second)
			}
		}
		if m.breaks(op) {
			return zktest.Action{Lose: true}
		}
		return hook(op)
	}})
	return m
}

// on reports whether a request is to be refused, at most one in each period.
func (m *flooded) on(every time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.refuses || time.Since(m.last) < every {
		return false
	}
	m.last = time.Now()
	return true
}

// breaks reports whether the connection breaks at a request.
func (m *flooded) breaks(op zktest.Op) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.cuts, func(cut func(zktest.Op) bool) bool { return cut(op) })
	if i >= 0 {
		m.cuts = slices.Delete(m.cuts, i, i+1)
	}
	return i >= 0
}

// refuse makes the ensemble refuse requests from now on.
func (m *flooded) refuse() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuses = true
}

// app returns a command whose engine opens sessions of this ensemble.
func (m *flooded) app() (*app, *bytes.Buffer) {
	text := &bytes.Buffer{}
	a := &app{stdin: strings.NewReader(""), stdout: text, stderr: text, setup: setup()}
	a.setup.Engines = []target.Engine{{Name: "memory", Persistent: true,
		Open: func(_ context.Context, d target.Dialing) (zk.Session, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.stranger && m.refuses {
				m.last = time.Now()
				return nil, zk.ErrAuthFailed
			}
			return m.DialTimeout(d.Timeout), nil
		}}}
	return a, text
}

// unexplained are codes that recipes and removals act on, or that leave an outcome open: if one of them ends a command, its message need not contain a
// remedy.
var unexplained = []int32{closes, -2, -4, -7, -101, -103, -108, -110, -111, -118, -121}

// judge checks that a command has ended in time, with few requests, and with a message.
func (m *flooded) judge(t *testing.T, r refusal, said string, failed bool, took, inTime time.Duration) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.sent > m.most:
		t.Errorf("%v: %d requests, at most %d are expected\n%s", r, m.sent, m.most, said)
	case took > inTime:
		t.Errorf("%v: it took %v, at most %v are expected\n%s", r, took, inTime, said)
	}
	if !failed || m.last.IsZero() {
		return
	}
	if r.kind == zk.KindSetWatches { // its answer is not an error of any request: the watches are lost
		return
	}
	gone := r.code == -101 && strings.Contains(said, "/zkbench/floods") // the run takes it as the loss of its root, which it names
	if !gone && r.kind != zk.KindAuth && !strings.Contains(said, r.kind.String()+" ") {
		t.Errorf("%v: the message does not name the request\n%s", r, said)
	}
	if slices.Contains(unexplained, r.code) {
		return
	}
	if strings.Contains(said, "its ACL does not allow this client to list it: give the credentials") { // clean has its own remedy
		return
	}
	if want := zk.FromCode(r.code).Error(); !strings.Contains(said, want) {
		t.Errorf("%v: the message does not say %q\n%s", r, want, said)
	} else if explained := access.Explain(&zk.Error{Op: r.kind, Path: "/", Err: zk.FromCode(r.code)}).Error(); !strings.Contains(said, explained[strings.Index(explained, want)+len(want):]) {
		t.Errorf("%v: the message has no remedy\n%s", r, said)
	}
}

// A run whose requests are refused ends within its time, with a bounded number of requests, and says what was refused.
func TestARefusedRunEnds(t *testing.T) {
	for w, kind := range described() {
		p := set(t, smallest(t, kind.Name, 6), "session_timeout=4s", "repetitions=1")
		if kind.Shape == profiles.Timed {
			p = set(t, p, "warmup=200ms", "duration=1s", "drain=1s")
		}
		p = set(t, p, fewer(p, 5)...).Points()[0]
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			for _, r := range refusals(phasesRefused, 311, w*7) {
				t.Run(r.String(), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { runRefused(t, p, r) }) })
			}
		})
	}
}

// ZooKeeper 3.4 cannot read a create2 in a transaction, and answers with -5 without closing the connection: a run that creates its root in one ends at once.
func TestARunOnServersThatAreTooOldEnds(t *testing.T) {
	p := set(t, smallest(t, "lock", 6), "session_timeout=4s").Points()[0]
	synctest.Test(t, func(t *testing.T) {
		m, said := runRefused(t, p, refusal{zk.KindMulti, -5, ""})
		if m.sent > 10 || !strings.Contains(said, "create the root /zkbench/floods: multi : the server cannot process the request (error -5); this request needs ZooKeeper 3.5.0") {
			t.Errorf("%d requests, and it says: %s", m.sent, said)
		}
	})
}

// runRefused carries out a profile on servers that refuse requests, and returns the run's output.
func runRefused(t *testing.T, p profiles.Profile, r refusal) (*flooded, string) {
	m := newFlooded(r, 20_000)
	a, said := m.app()
	dir, err := results.Create(filepath.Join(t.TempDir(), "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	p.Engine = "memory"
	if r.phase == "" {
		m.refuse()
	}
	stop := make(chan struct{})
	limit := time.AfterFunc(10*time.Minute, func() { close(stop) })
	defer limit.Stop()
	began := time.Now()
	doc, err := bench.Run(t.Context(), bench.Config{Setup: a.setup, Profile: p, Ensemble: m, Name: "floods", Out: dir, Stop: stop,
		Progress: func(u load.Update) {
			if u.Phase == r.phase && u.Message == "" {
				m.refuse()
			}
		}})
	took := time.Since(began)
	if doc != nil {
		a.stdout = io.Discard // the report; its notes are enough
		a.present(doc, dir, pages{}, automation{})
		fmt.Fprintln(said, doc.Exit.Reason, doc.LeftBehind, strings.Join(doc.Notes, "\n"))
		for _, c := range doc.Cells {
			fmt.Fprintln(said, strings.Join(c.Notes, "\n"))
			for _, k := range c.Checks { // after -112 recipes assume that their sessions have ended and that their ephemeral znodes are gone
				if k.Verdict == "violated" && r.code != -112 && !slices.Contains(unexplained, r.code) {
					t.Errorf("%v: violated: %s of %s: %s", r, k.Name, c.Variant, k.Detail)
				}
			}
		}
	}
	if err != nil {
		fmt.Fprintln(said, access.Explain(err))
	}
	m.judge(t, r, said.String(), err != nil, took, 6*time.Minute)
	for _, s := range m.Sessions() {
		s.Close()
	}
	return m, said.String()
}

// commandsRefused are the other commands that send requests, each on an ensemble with the root of a run that has ended. They call begun when their own work starts.
var commandsRefused = map[string]func(ctx context.Context, m *flooded, a *app, begun func()) error{
	"clean": func(ctx context.Context, m *flooded, a *app, begun func()) error {
		c := cleaning{app: a, base: root.DefaultBase, engine: "memory", sure: true, force: true}
		return c.carryOut(ctx, m)
	},
	"limits": func(ctx context.Context, m *flooded, a *app, begun func()) error {
		s := m.Dial()
		defer s.Close()
		tree := limits.Walk(ctx, zk.Prompt(s, cleanTimeout), 1000, 5*time.Second)
		return tree.Err
	},
	"calibrate": func(ctx context.Context, m *flooded, a *app, begun func()) error {
		_, err := measureIn(ctx, calibrate.Plan{Dir: os.TempDir(), Sessions: 4, Runs: 2, For: 200 * time.Millisecond,
			Open: func(context.Context) (zk.Session, error) { return m.Dial(), nil },
			Tell: func(what string) {
				if what == "connections" {
					begun()
				}
			}}, "")
		return err
	},
	"published": playedPublished,
}

// The other commands also end, from their first request or from the start of their own work on.
func TestARefusedCommandEnds(t *testing.T) {
	phases := []string{"", "begun"}
	for name, command := range commandsRefused {
		t.Run(name, func(t *testing.T) {
			each := 17
			if name == "calibrate" { // it also measures the machine, in real time
				each = 127
			}
			for _, r := range refusals(phases, each, len(name)) {
				if name == "published" && !zk.Refused(zk.FromCode(r.code)) {
					continue // published recipes have defects, such as repeating requests without a pause: other answers are not tested with them
				}
				t.Run(r.String(), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						m := newFlooded(r, 20_000)
						a, said := m.app()
						s := m.Dial()
						if err := root.New("/zkbench/old", "old", "old", time.Second, a.setup.Names()).Make(t.Context(), s); err != nil {
							t.Fatal(err)
						}
						s.Create(t.Context(), "/zkbench/old/cell-1", nil, zk.Persistent)
						s.Create(t.Context(), "/zkbench/old/cell-1/lock-0", nil, zk.Persistent)
						s.Close()
						if r.phase == "" {
							m.refuse()
						}
						began := time.Now()
						err := command(t.Context(), m, a, m.refuse)
						took := time.Since(began)
						if err != nil {
							fmt.Fprintln(said, access.Explain(err))
						}
						m.judge(t, r, said.String(), err != nil, took, 2*time.Minute)
						for _, s := range m.Sessions() {
							s.Close()
						}
					})
				})
			}
		})
	}
}

// A search for a capacity, whose probes are runs, also ends.
func TestARefusedSearchEnds(t *testing.T) {
	for _, r := range refusals([]string{"", outcome.PhaseWarmup, outcome.PhaseSteady}, 151, 11) {
		t.Run(r.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, p := memorySearchOf(t, reading(t), overRate, capacity.Plan{From: 50, To: 400, Width: 0.5, Confirm: 2, Block: time.Second, Budget: 2 * time.Minute, Seed: 7,
					Goals: []capacity.Goal{{Name: "p90<100ms", Share: 0.1}}})
				p.r.limits = []load.Limit{{Response: 100 * time.Millisecond}}
				m := newFlooded(r, 400*5*60)
				a, said := m.app()
				a.stdout, a.stderr = io.Discard, io.Discard
				p.a, p.ensemble, p.r.out = a, m, t.TempDir()
				p.tell = func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) }
				p.look = func(u load.Update) {
					if u.Phase == r.phase && u.Message == "" {
						m.refuse()
					}
				}
				if r.phase == "" {
					m.refuse()
				}
				doc := &results.Capacity{Started: time.Now()}
				p.all(doc, 2*time.Minute)
				fmt.Fprintln(said, doc.Exit.Reason)
				if p.broken != nil {
					fmt.Fprintln(said, access.Explain(p.broken))
				}
				m.judge(t, r, said.String(), p.broken != nil && !errors.Is(p.broken, context.Canceled), time.Since(doc.Started), 10*time.Minute)
				for _, s := range m.Sessions() {
					s.Close()
				}
			})
		})
	}
}
