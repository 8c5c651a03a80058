package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/traffic/replay"
	"github.com/zkbench/zkbench/traffic/trace"
	"github.com/zkbench/zkbench/zk"
)

// Fields of the workload 'replay'.
var (
	traceFile = profiles.Field{Key: "trace", Type: profiles.FilePath, Required: true, Example: "monday.trace",
		Doc: "File of the trace to replay. Its mean rate is speed 1: twice that rate replays it twice as fast; without a rate the trace is replayed once, as fast as its order allows."}
	readKinds = profiles.Field{Key: "reads", Type: profiles.WordShares, Words: opNames([]metrics.Op{metrics.GetData, metrics.Exists, metrics.Children, metrics.Sync}),
		Example: "{get: 100}", Default: "{get: 70, exists: 20, children: 10}",
		Doc: "Weights of the reads that are sent where the trace has only their number, as traces made from the files of servers do."}
	replayShares = profiles.Field{Key: SharesKey, Type: profiles.WholeNumber, Example: "1", Min: 1, Max: 1000,
		Doc: "Number of shares of the run, each of them a process: sessions of the trace that depend on each other are in one. By default 1; 'zkbench replay --share I/N' sets it."}
)

// ReplayName is the name of the workload 'replay', and SharesKey that of its field for the number of processes.
const (
	ReplayName = "replay"
	SharesKey  = "shares"
)

// Replays returns the workload 'replay'.
func Replays() Kind {
	plans := &plans{}
	return Kind{
		Doc:     "the recorded requests of other clients, as they were sent",
		Objects: "replay",
		Znodes: recipes.Znodes{
			Persistent: []string{`OBJECT/round-#`, `round-#/present`},
			Ephemeral:  []string{`(round-#|` + replay.Mark + `.*)/` + replay.Mark + `.*`}, // of a recording: nobody knows which of them are ephemeral
		},
		Workload: profiles.Workload{Name: ReplayName, Fields: []profiles.Field{traceFile, readKinds, replayShares}, Check: plans.check},
		Shared:   asPlanned,
		Variants: []Variant{{Name: "trace", Source: "docs/traffic.md", Doc: "each recorded session is a session, and each recorded request a request", New: plans.workload}},
	}
}

// plans keeps the plan of the trace that was read last: checks of a profile and its cells need the same one.
type plans struct {
	mu   sync.Mutex
	of   string
	plan *replay.Plan
}

// Plan returns the plan of the replay of a trace file, with the weights of its field 'reads' at a point of a profile.
func (p *plans) get(v profiles.Values) (*replay.Plan, error) {
	path, shares, n := v.Word(traceFile), v.Shares(readKinds), sharesOf(v)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	of := fmt.Sprint(path, info.Size(), info.ModTime(), shares, n)
	if p.of == of {
		return p.plan, nil
	}
	weights := replay.Weights{}
	for op, measured := range replayed {
		if share := shares.Of(measured.String()); share > 0 && slices.Contains(readKinds.Words, measured.String()) {
			weights[op] = share
		}
	}
	plan, err := ReadPlan(path, weights, n)
	if err != nil {
		return nil, err
	}
	p.of, p.plan = of, plan
	return plan, nil
}

// sharesOf returns the number of processes that replay a trace.
func sharesOf(v profiles.Values) int { return max(v.Int(replayShares), 1) }

// asPlanned is Kind.Shared of the workload 'replay'.
func asPlanned(p profiles.Profile, shares int) (problems []profiles.Problem) {
	if n := sharesOf(p.Values()); n != shares {
		problems = append(problems, profiles.Problem{Key: replayShares.Key, Message: fmt.Sprintf("must be the number of shares (%d), got %d", shares, n)})
	}
	return problems
}

// ReadPlan reads a trace file and plans its replay by a number of processes. The error names the file.
func ReadPlan(path string, reads replay.Weights, processes int) (*replay.Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := trace.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	plan, err := replay.Make(r.Header(), r, reads, processes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return plan, nil
}

// replayed says which operation stands for a recorded one. A failed write of unknown kind is replayed as a request that fails in the same way.
var replayed = map[trace.Op]metrics.Op{trace.Create: metrics.Create, trace.Delete: metrics.Delete, trace.Set: metrics.SetData, trace.Multi: metrics.Multi,
	trace.Get: metrics.GetData, trace.Exists: metrics.Exists, trace.Children: metrics.Children, trace.Sync: metrics.Sync, trace.NoOp: metrics.SetData}

// mostPrefilled is how many znodes a replay may create before its load.
const mostPrefilled = 5e6

// check reports traces that cannot be read, and sessions that are not those of the trace.
func (p *plans) check(profile profiles.Profile) (problems []profiles.Problem) {
	for _, point := range profile.Points() {
		plan, err := p.get(point.Values())
		if err != nil {
			return []profiles.Problem{{Key: traceFile.Key, Message: err.Error()}}
		}
		for i, n := range profile.Sessions {
			if n != len(plan.Clients) {
				problems = append(problems, profiles.Problem{Key: "sessions", Index: i, Message: fmt.Sprintf("must be the clients of the trace (%d), got %d", len(plan.Clients), n)})
			}
		}
		rate := 0.0
		if len(point.Rate) > 0 {
			rate = point.Rate[0]
		}
		if n := float64(len(plan.Prefill)) * float64(repeats(plan, rate, point.Warmup+point.Duration)); n > mostPrefilled {
			problems = append(problems, profiles.Problem{Key: "duration", Message: fmt.Sprintf("the trace is repeated so often that %.0f znodes have to exist before (at most %.0f)", n, float64(mostPrefilled))})
		}
		if len(problems) > 0 {
			return problems
		}
	}
	return nil
}

// repeats returns how many times a trace is replayed, one after the other, in a load of some length.
func repeats(plan *replay.Plan, rate float64, span time.Duration) int {
	if rate == 0 {
		return 1
	}
	once := time.Duration(float64(plan.Length) / plan.Speed(rate))
	return max(1, int((span+once-1)/max(once, 1)))
}

func (p *plans) workload(l Load, options map[string]string) (Workload, error) {
	for name, value := range options {
		return nil, fmt.Errorf("variant trace: %w", Variant{Name: "trace"}.CheckOption(name, value))
	}
	plan, err := p.get(l.Values)
	if err != nil {
		return nil, err
	}
	return newReplay(plan, l), nil
}

// newReplay returns the replay of a plan. Without a rate it ends when all is sent.
func newReplay(plan *replay.Plan, l Load) Workload {
	w := &replays{Load: l, places: places{l.Dir, "replay", 1}, plan: plan, speed: 1, clients: make([]replayClient, l.Sessions)}
	if l.Open {
		w.speed = plan.Speed(l.Rate)
	}
	for i := range repeats(plan, l.Rate, l.Span) {
		w.rounds = append(w.rounds, newRound(plan, w.path(0)+"/round-"+strconv.Itoa(i)))
		if l.Shared && !l.Merged {
			w.rounds[i].presume()
		}
	}
	w.fidelity.lag = metrics.NewHistogram()
	if l.Open {
		return w
	}
	return onceReplay{w}
}

// replays is the workload 'replay'.
type replays struct {
	Load
	places
	plan     *replay.Plan
	speed    float64
	rounds   []*round
	clients  []replayClient
	fidelity fidelity
}

// onceReplay is a replay that is as fast as its order allows.
type onceReplay struct{ *replays }

// Finished reports whether a client has sent everything.
func (w onceReplay) Finished(session uint32) bool {
	c := &w.clients[session]
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next == len(w.items(session))
}

// items returns what a client does.
func (w *replays) items(session uint32) []replay.Item {
	if int(session) >= len(w.plan.Clients) {
		return nil
	}
	return w.plan.Clients[session]
}

// round is one of the repetitions of the trace.
type round struct {
	plan  *replay.Plan
	dir   string
	begin sync.Once
	done  []chan struct{}          // by the number of the item; nil before the first item
	names []atomic.Pointer[string] // by birth: the path of the znode
}

func newRound(plan *replay.Plan, dir string) *round {
	return &round{plan: plan, dir: dir, names: make([]atomic.Pointer[string], len(plan.Births))}
}

// start prepares a round for its first item: a load may end before most rounds that it has room for.
func (r *round) start() {
	r.begin.Do(func() {
		r.done = make([]chan struct{}, r.plan.Waited)
		for i := range r.done {
			r.done[i] = make(chan struct{})
		}
	})
}

// path returns the path for a Ref, and false if the znode has none because it was not created.
func (r *round) path(ref replay.Ref) (path string, known bool) {
	if ref.Birth < 0 {
		return r.dir + ref.Rest, true
	}
	if name := r.names[ref.Birth].Load(); name != nil {
		return *name + ref.Rest, true
	}
	path, _ = r.path(r.plan.Births[ref.Birth].Named)
	return path + ref.Rest, false
}

// born notes the path of a znode.
func (r *round) born(birth int, path string) {
	if birth >= 0 {
		r.names[birth].Store(&path)
	}
}

// finish lets those go on who wait for an item.
func (r *round) finish(it *replay.Item) {
	if it.Number >= 0 {
		close(r.done[it.Number])
	}
}

// never is later than any cell.
const never = time.Duration(1 << 61)

// content is the data of replayed znodes: any part of it. It does not compress.
var content = func() []byte {
	b := make([]byte, 1<<20)
	r := rand.NewChaCha8([32]byte{})
	r.Read(b)
	return b
}()

// data returns data of a size.
func data(size int) []byte { return content[:min(max(size, 0), len(content))] }

// Setup creates the znodes that existed before the recording.
func (w *replays) Setup(ctx context.Context, s zk.Session) error {
	if err := w.make(ctx, s); err != nil {
		return err
	}
	for _, r := range w.rounds {
		if err := r.prefill(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// The limits of one transaction of a prefill, as those of zk.InBatches, which does not return the names that servers give.
const (
	prefillOps   = 500
	prefillBytes = 500_000
)

func (r *round) prefill(ctx context.Context, s zk.Session) error {
	if _, err := s.Multi(ctx, zk.CreateOp(r.dir, nil, zk.Persistent), zk.CreateOp(r.dir+"/present", nil, zk.Persistent)); err != nil {
		return err
	}
	var ops []zk.Op
	first, bytes := 0, 0
	send := func() error {
		if len(ops) == 0 {
			return nil
		}
		made, err := s.Multi(ctx, ops...)
		if err != nil {
			return err
		}
		for i, m := range made {
			r.born(first+i, m.Path)
		}
		first, ops, bytes = first+len(ops), ops[:0], 0
		return nil
	}
	for _, z := range r.plan.Prefill {
		if z.Path.Birth >= first { // its parent is in the same transaction
			if err := send(); err != nil {
				return err
			}
		}
		path, _ := r.path(z.Path)
		mode := zk.Persistent
		if z.Sequential {
			path, _, _ = trace.Numbered(path)
			mode = zk.PersistentSequential
		}
		ops = append(ops, zk.CreateOp(path, data(z.Size), mode))
		if bytes += len(path) + z.Size + 64; len(ops) == prefillOps || bytes > prefillBytes {
			if err := send(); err != nil {
				return err
			}
		}
	}
	return send()
}

// presume notes the names of the znodes of the prefill, which another process creates. The servers number a znode by how many its parent has had before.
func (r *round) presume() {
	children := map[string]int{r.dir: 1} // 'present'
	for i, z := range r.plan.Prefill {
		path, _ := r.path(z.Path)
		parent := path[:strings.LastIndexByte(path, '/')]
		if z.Sequential {
			path, _, _ = trace.Numbered(path)
			path += fmt.Sprintf("%010d", children[parent])
		}
		children[parent]++
		r.born(i, path)
	}
}

// Schedule returns when the Steps of a client are due, one after the other.
func (w *replays) Schedule(session uint32, offered bool) func() time.Duration {
	i, number := -1, 0
	return func() time.Duration {
		items := w.items(session)
		if len(items) == 0 {
			return never
		}
		for {
			if i++; i == len(items) {
				i, number = 0, number+1
			}
			if number >= len(w.rounds) {
				return never
			}
			if !offered || items[i].Offers() {
				return w.due(number, items, i)
			}
		}
	}
}

// due returns when an item is due, which is not before the one before it.
func (w *replays) due(number int, items []replay.Item, i int) time.Duration {
	at := items[i].Due(w.speed)
	if i > 0 && items[i].Kind == replay.Vanish {
		at = max(at, items[i-1].Due(w.speed))
	}
	return at + time.Duration(float64(number)*float64(w.plan.Length)/w.speed)
}

// Await waits for the requests of a client that are in flight.
func (w *replays) Await(session uint32) { w.clients[session].pending.Wait() }

// Inspect records nothing: no check judges what is left.
func (w *replays) Inspect(context.Context, zk.Session, metrics.Recorder) error {
	return nil
}

// Checks returns no checks: a replay is judged by its fidelity.
func (w *replays) Checks() []check.Check { return nil }

// Per returns a request as the unit of cost.
func (w *replays) Per() (ops []metrics.Op, name string) { return Ops(w), "request" }

// Measures returns a measure for each operation of the trace.
func (w *replays) Measures() []Measure {
	var all []Measure
	for _, op := range plain {
		for recorded := range w.plan.Ops {
			if replayed[recorded] == op {
				all = append(all, operation(op, "requests"))
				break
			}
		}
	}
	return append(all, Measure{Op: metrics.Open, Role: Part, Unit: "sessions"}, Measure{Op: metrics.Close, Role: Part, Unit: "closes"})
}
