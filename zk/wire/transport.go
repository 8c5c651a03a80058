package wire

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/zk/internal/lease"
)

// Transport reads the sockets of many sessions and sends their pings: it has one or a few pollers and one schedule, however many sessions there are.
// The zero value is ready to use. Its goroutines start with the first session and have ended when the last one is closed. It is safe for concurrent
// use.
type Transport struct {
	// Pollers is how many goroutines read sockets; 0 means one for every eight CPUs. One reads about 300,000 replies a second; more than the CPUs can
	// supply only cost wake-ups.
	Pollers int

	mu    sync.Mutex
	users int
	eng   *engine
	time  *lease.Clock // nil for the real one
}

// shared is the Transport of sessions that specify none, as http.DefaultTransport is for clients. Apart from the pool of calls it is the only mutable
// variable of the package. It holds nothing while no session is open.
var shared = new(Transport)

// engine is what a Transport runs while it has sessions.
type engine struct {
	time     *lease.Clock
	clock    atomic.Int64 // in nanoseconds, as of the last time that a poller or the schedule woke up; never ahead
	pollers  []*poller
	turn     atomic.Uint32
	schedule *schedule
	dialing  chan struct{} // holds one token for each connection being made

	mu    sync.Mutex
	known map[string]*servers // by their addresses
	peers map[string]*peer    // by address
}

// servers is what the sessions of a Transport know about the servers that they connect to.
type servers struct {
	// old says that one of them is older than ZooKeeper 3.5: it knows neither create2, containers nor removeWatches, answers such a request with 'unimplemented'
	// and closes the connection, and answers a multi with one of these with 'marshalling error'. Sessions then send what every version knows.
	old atomic.Bool
}

// knows returns what is known about servers with these addresses, in any order.
func (e *engine) knows(addresses []string) *servers {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := strings.Join(slices.Sorted(slices.Values(addresses)), ",")
	if e.known[key] == nil {
		if e.known == nil {
			e.known = map[string]*servers{}
		}
		e.known[key] = new(servers)
	}
	return e.known[key]
}

// peer is what the sessions of a Transport know about one server.
type peer struct {
	wrote atomic.Int64 // when it last carried out a write, on the engine's clock; 0: never
}

func (e *engine) peer(address string) *peer {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.peers[address] == nil {
		if e.peers == nil {
			e.peers = map[string]*peer{}
		}
		e.peers[address] = new(peer)
	}
	return e.peers[address]
}

// maxDialing is how many connections are made concurrently: beyond the servers' backlog of 50 the kernel drops attempts, and the client repeats them only after a second.
const maxDialing = 48

// dialHold is how long an attempt may hold its slot among them: a server that does not answer must not block sessions that connect to another.
const dialHold = 200 * time.Millisecond

// pollers returns the default number of pollers for a number of CPUs.
func pollers(cpus int) int { return (cpus + 7) / 8 }

func (t *Transport) acquire() (*engine, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.eng == nil {
		n := t.Pollers
		if n <= 0 {
			n = pollers(runtime.GOMAXPROCS(0))
		}
		e, err := newEngine(n, t.time)
		if err != nil {
			return nil, err
		}
		t.eng = e
	}
	t.users++
	return t.eng, nil
}

func (t *Transport) release() {
	t.mu.Lock()
	t.users--
	var last *engine
	if t.users == 0 {
		last, t.eng = t.eng, nil
	}
	t.mu.Unlock()
	if last != nil {
		last.stop()
	}
}

func newEngine(pollers int, clock *lease.Clock) (*engine, error) {
	e := &engine{time: cmp.Or(clock, new(lease.Clock)), dialing: make(chan struct{}, maxDialing)}
	e.exact()
	for range pollers {
		p, err := newPoller(e)
		if err != nil {
			e.stop()
			return nil, err
		}
		e.pollers = append(e.pollers, p)
	}
	e.schedule = newSchedule(e)
	return e, nil
}

func (e *engine) stop() {
	for _, p := range e.pollers {
		p.stop()
	}
	if e.schedule != nil {
		e.schedule.stop()
	}
}

// now reads the clock and stores the time for callers that need it only roughly. It is never ahead, but may be behind by the time that the machine was
// suspended since the last call of exact.
func (e *engine) now() int64 {
	now := int64(e.time.Rough())
	e.clock.Store(now)
	return now
}

// exact reads the clock that keeps running while the machine is suspended, which costs a system call.
func (e *engine) exact() int64 {
	now := int64(e.time.Now())
	e.clock.Store(now)
	return now
}

// poller returns the next poller, in turn.
func (e *engine) poller() *poller {
	return e.pollers[e.turn.Add(1)%uint32(len(e.pollers))]
}

// place waits for a slot among the connections being made; leave frees it, as does dialHold.
func (e *engine) place(quit <-chan struct{}) (leave func(), ok bool) {
	select {
	case e.dialing <- struct{}{}:
	case <-quit:
		return nil, false
	}
	once := sync.OnceFunc(func() { <-e.dialing })
	late := time.AfterFunc(dialHold, once)
	return func() { late.Stop(); once() }, true
}
