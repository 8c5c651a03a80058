package broken_test

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk/zktest"
)

// load is a load in memory, in the time of a synctest bubble.
type load struct {
	seed     uint64
	seeds    int // how many may be tried, by a defect that shows only if a session ends between two particular requests; 0: this one
	sessions int
	length   time.Duration
	hold     time.Duration
	deadline time.Duration
	request  time.Duration // latency of requests
	event    time.Duration // latency of events
	object   string        // what the sessions contend for; empty: /locks/lock-0
	cut      bool          // in-flight work at the end is cut immediately
	before39 bool          // events have no zxids
	shared   bool          // the sessions know that others are in other processes
	// stage, if not nil, causes what the load alone does not. It is called when all sessions are open.
	stage func(ctx context.Context, st *stage)
}

// stage is what a load's stage function works on.
type stage struct {
	*zktest.Ensemble
	t    *testing.T
	lock string // the lock's directory
}

const (
	sessionTimeout = 2 * time.Second
	stallBound     = 2 * sessionTimeout
)

// run drives the variant and returns the verdict of every check.
func (l load) run(t *testing.T, v recipes.Variant[recipes.Lock]) (verdicts map[string]check.Verdict) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { verdicts = l.inBubble(t, v) })
	return verdicts
}

// untilCaught runs a defect with up to l.seeds seeds, until its check convicts it, across hosts too if that is judged separately.
func untilCaught(l load, by string, run func(load) map[string]check.Verdict) (verdicts map[string]check.Verdict) {
	for range max(l.seeds, 1) {
		verdicts = run(l)
		if several, judged := verdicts[by+across]; verdicts[by].Answer == check.Violated && (!judged || several.Answer == check.Violated) {
			break
		}
		l.seed++
	}
	return verdicts
}

// undecided reports whether a verdict across hosts is unknown because the order of transactions says too little about lost sessions.
func undecided(v check.Verdict) bool {
	return v.Answer == check.Unknown && strings.Contains(v.Detail, "sessions were lost")
}

func (l load) inBubble(t *testing.T, v recipes.Variant[recipes.Lock]) map[string]check.Verdict {
	return l.drive(t, workloads.NewLock(v, recipes.Options{}, l.cell("/locks", nil)))
}

// cell returns the load as a workload's parameter.
func (l load) cell(dir string, values profiles.Values) workloads.Load {
	c := workloads.Load{Dir: dir, Sessions: l.sessions, Deadline: l.deadline, Stall: stallBound, Shared: l.shared, Values: profiles.Values{"hold": l.holds()}}
	maps.Copy(c.Values, values)
	return c
}

// holds returns how long a grant is held.
func (l load) holds() profiles.Distribution {
	if l.hold == 0 {
		return profiles.Distribution{}
	}
	return profiles.Distribution{Kind: profiles.Uniform, Min: l.hold / 2, Max: l.hold/2 + l.hold - 1}
}

// drive carries out a workload in a bubble and returns the verdict of every check, on one host and with the sessions spread over several.
func (l load) drive(t *testing.T, w workloads.Workload) map[string]check.Verdict {
	ens := zktest.New(zktest.Config{Timeout: sessionTimeout, OpLatency: l.request, EventLatency: l.event, Version: map[bool]string{true: "3.8.0"}[l.before39]})
	admin := ens.Dial()
	defer admin.Close()
	if err := w.Setup(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	history, fanout, origin := metrics.NewHistory(1, nil), metrics.NewFanout(1), metrics.NewOrigin(time.Now())
	ctx, cut := context.WithCancelCause(t.Context())
	stop := make(chan struct{})
	var seats, staging sync.WaitGroup
	for i := range l.sessions {
		seat := workloads.Seat{ID: uint32(i), Recorder: history.Shard(0), Fanout: fanout.Shard(0), Origin: origin,
			Rand: rand.New(rand.NewPCG(l.seed, uint64(i)))}
		seats.Go(func() { sit(ctx, stop, ens, w, seat) })
	}
	if l.stage != nil {
		staging.Go(func() { l.stage(ctx, &stage{ens, t, cmp.Or(l.object, "/locks/lock-0")}) })
	}
	time.Sleep(l.length)
	close(stop)
	if !l.cut {
		time.Sleep(time.Second)
	}
	cut(workloads.CutAt(origin.Now()))
	seats.Wait()
	staging.Wait()
	ens.Hook(nil)
	time.Sleep(stallBound) // for background removals
	if err := workloads.InspectOpen(t.Context(), w, admin, history.Shard(0)); err != nil {
		t.Fatal(err)
	}
	for _, s := range ens.Sessions() {
		if s != admin {
			s.Close()
		}
	}
	if err := w.Inspect(t.Context(), admin, history.Shard(0)); err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]check.Verdict{}
	hosts := split(history.All(), 2+int(l.seed%3))
	for _, c := range w.Checks() {
		verdicts[c.Name] = c.Judge(history.All(), nil)
		agree(t, verdicts[c.Name])
		if c.Across != nil {
			verdicts[c.Name+across] = c.Across(hosts, nil)
			agree(t, verdicts[c.Name+across])
		}
	}
	once := check.Host{History: history.All()}
	if s := check.Skews([]check.Host{once, once}, nil)[1]; s.Known && (s.Low > 0 || s.High < 0) && !convicted(verdicts) {
		t.Errorf("by its transactions the clock is ahead of itself by %v to %v", s.Low, s.High)
	}
	return verdicts
}

func convicted(verdicts map[string]check.Verdict) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(verdicts)), func(v check.Verdict) bool { return v.Answer == check.Violated })
}

// sit works in one seat until stop is closed, with a new session whenever one is lost.
func sit(ctx context.Context, stop <-chan struct{}, ens *zktest.Ensemble, w workloads.Workload, seat workloads.Seat) {
	for {
		seat.Session = ens.Dial()
		step := w.Join(seat)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if step.Do(ctx, seat.Origin.Now()) != nil {
				break
			}
		}
	}
}

// queue returns the lock's children in order of their numbers.
func (st *stage) queue() []string {
	var all []string
	for path := range st.Tree() {
		if strings.HasPrefix(path, st.lock+"/") {
			all = append(all, path)
		}
	}
	tail := func(path string) int { n, _ := strconv.Atoi(path[len(path)-10:]); return n }
	slices.SortFunc(all, func(a, b string) int { return tail(a) - tail(b) })
	return all
}

// expire expires the session that owns the i-th znode of the queue, if there is one.
func (st *stage) expire(i int) {
	queue := st.queue()
	if i < len(queue) {
		st.expireOwner(queue[i])
	}
}

func (st *stage) expireOwner(path string) {
	owner := st.Tree()[path].Stat.EphemeralOwner
	for _, s := range st.Sessions() {
		if owner != 0 && s.ID() == owner {
			st.Expire(s)
		}
	}
}

// every calls do at intervals until ctx ends.
func every(ctx context.Context, d time.Duration, do func()) {
	for {
		select {
		case <-time.After(d):
			do()
		case <-ctx.Done():
			return
		}
	}
}
