package fuzz_test

import (
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// The times of a run, by the bubble's clock.
const (
	timeout  = 6 * time.Second   // of sessions
	storm    = 20 * time.Second  // while faults are injected
	timeLeft = 30 * time.Second  // after the faults: background work ends within it
	patient  = 120 * time.Second // the longest that an operation may take without faults
)

const dir = "/fuzz/a"

// world is one run: an ensemble, its clients, the faults, and the problems found.
type world struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand // only for the script
	ens  *zktest.Ensemble
	set  settings

	mu       sync.Mutex
	begun    time.Time
	calm     bool // the faults have ended
	ended    bool
	clients  []*client
	sessions map[*zktest.Session]*link
	log      []string
	problems []string
	watchers []func(zktest.Op)      // called for each operation that was applied
	written  bool                   // the recipe tolerates writes to its znodes
	lenient  bool                   // any error of the recipe is accepted, but not waiting forever
	foreign  func(path string) bool // znodes that others may delete; nil: none
	stays    func(path string) bool // znodes that exist as long as a handle; nil: none
}

// settings are the size of a run and its faults, drawn from its seed.
type settings struct {
	clients                                int
	shared                                 bool // the first two clients share a session
	loseRequest, loseReply, refuse, ending float64
	cuts, silences, expiries, lags         int
	slows, freezes, writes                 int
}

// link is what the world knows about a session.
type link struct {
	number  int // sessions are numbered in order of their opening
	count   int // of its operations
	expired bool
	frozen  bool
	now     decision
	prey    string // another session's znode that the operation is about to delete
}

// decision is the fate of an operation. It depends only on the seed, the session and the number of the operation, not on the scheduling of
// goroutines.
type decision struct {
	r      *rand.Rand
	travel time.Duration
	before zktest.Action
	after  zktest.Action
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), sessions: map[*zktest.Session]*link{}, begun: time.Now()}
	w.set = settings{clients: 2 + w.rng.IntN(4), shared: w.rng.IntN(4) == 0, ending: w.rng.Float64() / 2}
	weight := func(most float64) float64 { return max(0, w.rng.Float64()*2-1) * most }
	w.set.loseRequest, w.set.loseReply, w.set.refuse = weight(.15), weight(.15), weight(.05)
	w.set.cuts, w.set.silences, w.set.expiries, w.set.lags = int(weight(30)), int(weight(10)), int(weight(12)), int(weight(20))
	w.set.slows, w.set.freezes = int(weight(12)), int(weight(6))
	w.set.writes = int(weight(60))
	w.ens = zktest.New(zktest.Config{Timeout: timeout, OpLatency: time.Millisecond, EventLatency: 1300 * time.Microsecond})
	w.ens.Hook(w.hook)
	return w
}

// notef adds a line to the run's log.
func (w *world) notef(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf("%10.6f ", time.Since(w.begun).Seconds())+fmt.Sprintf(format, args...))
}

// problemf records a problem.
func (w *world) problemf(format string, args ...any) {
	w.notef("PROBLEM: "+format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

func (w *world) stormy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.calm && (w.lenient || len(w.problems) == 0)
}

// hook decides the fate of every operation and delays it by a random time, so that no two arrive at the same instant.
func (w *world) hook(op zktest.Op) zktest.Action {
	w.mu.Lock()
	l, calm := w.sessions[op.Session], w.calm
	if l == nil { // the referee's own
		w.mu.Unlock()
		return zktest.Action{}
	}
	if !op.Applied {
		l.count++
		l.now = w.decide(l.number, l.count)
	}
	d, n, prey := l.now, l.count, l.prey
	watchers := w.watchers
	w.mu.Unlock()
	if !op.Applied {
		time.Sleep(d.travel)
		w.guard(op, l, n)
		if calm || !d.before.Lose && d.before.Err == nil {
			return zktest.Action{}
		}
		w.notef("fault: %s %s of session %d: %s", op.Kind, op.Path, l.number, fate(d.before, "request"))
		return d.before
	}
	if prey != "" && op.Err == nil {
		w.problemf("session %d has deleted %s, which was another session's", l.number, prey)
	}
	for _, watch := range watchers {
		watch(op)
	}
	if calm || !d.after.Lose {
		return zktest.Action{}
	}
	w.notef("fault: %s %s of session %d: %s", op.Kind, op.Path, l.number, fate(d.after, "reply"))
	return d.after
}

func fate(a zktest.Action, what string) string {
	if a.Lose {
		return what + " lost"
	}
	return a.Err.Error()
}

func (w *world) decide(session, count int) decision {
	r := rand.New(rand.NewPCG(w.seed, uint64(session)<<32|uint64(count)))
	d := decision{r: r, travel: 100*time.Microsecond + time.Duration(r.Int64N(int64(2*time.Millisecond)))}
	switch p := r.Float64(); {
	case p < w.set.loseRequest:
		d.before.Lose = true
	case p < w.set.loseRequest+w.set.refuse:
		d.before.Err = zk.ErrThrottled
	case p < w.set.loseRequest+w.set.refuse+w.set.loseReply:
		d.after.Lose = true
	}
	return d
}

// guard notes whether an operation, the n-th of its session, would delete another live session's ephemeral znode, which none may. A request of a
// former connection, delayed until now, will not be applied and does not count.
func (w *world) guard(op zktest.Op, l *link, n int) {
	prey := ""
	for _, o := range op.Ops {
		if o.Kind != zk.KindDelete {
			continue
		}
		z, there := w.ens.Tree()[o.Path]
		if owner := z.Stat.EphemeralOwner; there && owner != 0 && owner != op.Session.ID() && (w.foreign == nil || !w.foreign(o.Path)) {
			prey = o.Path
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.count == n {
		l.prey = prey
	}
}

// event is a fault of the script.
type event struct {
	at   time.Duration
	who  int
	what string
	last time.Duration
}

func (e event) String() string {
	return fmt.Sprintf("%10.6f client %d: %s for %v", e.at.Seconds(), e.who, e.what, e.last)
}

// plan draws the script.
func (w *world) plan() []event {
	var all []event
	add := func(n int, what string, longest time.Duration) {
		for range n {
			last := time.Duration(w.rng.Int64N(int64(longest)))
			if w.rng.IntN(3) > 0 {
				last /= 20
			}
			all = append(all, event{time.Duration(w.rng.Int64N(int64(storm))), w.rng.IntN(w.set.clients), what, last})
		}
	}
	add(w.set.cuts, "cut", 2*timeout)
	for _, direction := range []string{"", " to server", " to client"} {
		add(w.set.silences, "silence"+direction, 9*time.Second)
	}
	add(w.set.slows, "delay to server", 3*time.Second)
	add(w.set.slows, "delay to client", 3*time.Second)
	add(w.set.freezes, "freeze", 9*time.Second)
	if w.written {
		add(w.set.writes, "write", time.Second)
	}
	add(w.set.expiries, "expiry", time.Second)
	add(w.set.lags, "lag", 4*time.Second)
	slices.SortFunc(all, func(a, b event) int { return int(a.at - b.at) })
	return all
}

// play injects the faults of the script.
func (w *world) play(script []event) {
	for _, e := range script {
		time.Sleep(time.Until(w.begun.Add(e.at)))
		w.mu.Lock()
		s := w.clients[e.who].s
		l := w.sessions[s]
		w.mu.Unlock()
		if s == nil || !w.stormy() {
			continue
		}
		if e.what == "write" {
			w.write(e)
			continue
		}
		w.notef("fault: %s for %v of session %d", e.what, e.last, l.number)
		later := func(do func()) { time.AfterFunc(e.last, do) }
		switch e.what {
		case "cut":
			w.ens.Disconnect(s)
			later(func() { w.ens.Reconnect(s) })
		case "silence", "silence to server", "silence to client":
			w.ens.Silence(s, directions(e.what)...)
			later(func() { w.ens.Reconnect(s) })
		case "delay to server", "delay to client":
			d := directions(e.what)[0]
			w.ens.Delay(s, d, time.Duration(1+w.rng.IntN(2000))*time.Millisecond)
			later(func() { w.ens.Delay(s, d, 0) })
		case "freeze":
			w.freeze(s, true)
			w.ens.Freeze(s)
			later(func() { w.ens.Thaw(s); w.freeze(s, false); w.ens.Reconnect(s) })
		case "expiry":
			w.mu.Lock()
			l.expired = true
			w.mu.Unlock()
			w.ens.Expire(s)
			later(func() { w.ens.Reconnect(s) })
		case "lag":
			w.ens.Lag(s, e.last+1)
			later(func() { w.ens.Lag(s, 0) })
		}
	}
	time.Sleep(time.Until(w.begun.Add(storm)))
}

// write rewrites one of the znodes with the same data, which causes an event without meaning.
func (w *world) write(e event) {
	tree := w.ens.Tree()
	paths := slices.Sorted(maps.Keys(tree))
	paths = slices.DeleteFunc(paths, func(path string) bool { return !strings.HasPrefix(path, dir) || path == dir && len(paths) > 3 })
	if len(paths) == 0 {
		return
	}
	path := paths[int(e.last)%len(paths)]
	s := w.ens.Dial()
	defer s.Close()
	_, err := s.Set(context.Background(), path, tree[path].Data, zk.AnyVersion)
	w.notef("fault: write to %s: %v", path, err)
}

func directions(fault string) []zktest.Direction {
	switch {
	case strings.HasSuffix(fault, "to server"):
		return []zktest.Direction{zktest.ToServer}
	case strings.HasSuffix(fault, "to client"):
		return []zktest.Direction{zktest.ToClient}
	}
	return []zktest.Direction{zktest.ToServer, zktest.ToClient}
}

func (w *world) freeze(s *zktest.Session, frozen bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions[s].frozen = frozen
}

// recover ends the faults. From then on clients keep reconnecting, like real ones: a server that has expired a session closes its connection later.
func (w *world) recover() {
	w.mu.Lock()
	w.calm = true
	w.mu.Unlock()
	w.notef("the faults end")
	for _, s := range w.all() {
		w.ens.Lag(s, 0)
		w.ens.Delay(s, zktest.ToServer, 0)
		w.ens.Delay(s, zktest.ToClient, 0)
		w.ens.Thaw(s)
		w.freeze(s, false)
	}
	go func() {
		for !w.over() {
			for _, s := range w.all() {
				w.ens.Reconnect(s)
			}
			time.Sleep(500*time.Millisecond + 1)
		}
	}()
}

// all returns the sessions in order of their opening.
func (w *world) all() []*zktest.Session {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.SortedFunc(maps.Keys(w.sessions), func(a, b *zktest.Session) int { return w.sessions[a].number - w.sessions[b].number })
}

func (w *world) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// expired reports whether the script has expired the session, which a client without a connection cannot know, or has frozen its process, which
// cannot act on its grants.
func (w *world) expired(s *zktest.Session) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sessions[s].expired || w.sessions[s].frozen
}

// player says what the clients of a recipe do.
type player interface {
	// step carries out one operation of a client. Nothing is held between steps.
	step(c *client)
	// prove shows that a client can still work after the faults.
	prove(c *client)
	// check judges the final state, after all clients have stopped.
	check(w *world)
}

// run carries out a run and returns its world, with the problems and the log.
func run(t *testing.T, seed uint64, make func(w *world) player) (w *world) {
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, seed)
		p := make(w)
		for i := range w.set.clients {
			w.clients = append(w.clients, w.client(i))
		}
		script := w.plan()
		var all sync.WaitGroup
		for _, c := range w.clients {
			all.Go(func() {
				for c.rest(20 * time.Millisecond); c.stormy(); c.rest(80 * time.Millisecond) {
					p.step(c)
				}
			})
		}
		w.play(script)
		w.recover()
		all.Wait()
		time.Sleep(timeLeft)
		w.ghosts("after the faults")
		if w.lenient || len(w.problems) == 0 {
			for _, c := range w.clients {
				all.Go(func() { p.prove(c) })
			}
			all.Wait()
			time.Sleep(timeLeft)
			w.ghosts("at the end")
			p.check(w)
		}
		w.mu.Lock()
		w.ended = true
		w.mu.Unlock()
		for _, s := range w.all() {
			s.Close()
		}
		time.Sleep(time.Minute)
	})
	return w
}

// ghosts reports ephemeral znodes of open sessions as problems: no client holds or waits.
func (w *world) ghosts(when string) {
	for _, path := range w.ens.Ephemerals() {
		if w.stays != nil && w.stays(path) {
			continue
		}
		w.problemf("%s: nobody holds anything, but %s exists", when, path)
	}
}

// digest is equal for equal runs.
func (w *world) digest() uint64 { return maphash.String(hashSeed, strings.Join(w.log, "\n")) }

var hashSeed = maphash.MakeSeed()

// wrap lets the numbers of the directories' children wrap during the run, in one of four runs.
func (w *world) wrap(dirs ...string) {
	if w.rng.IntN(4) > 0 {
		return
	}
	for _, dir := range dirs {
		makeAll(w, dir)
		w.ens.SetSequence(dir, math.MaxInt32-int32(w.rng.IntN(20)))
	}
	w.notef("the numbers wrap soon")
}

// makeAll creates a directory and its parents.
func makeAll(w *world, dir string) {
	s := w.ens.Dial()
	for i, c := range dir + "/" {
		if c == '/' && i > 0 {
			s.Create(context.Background(), dir[:i], nil, zk.Persistent)
		}
	}
	s.Close()
}
