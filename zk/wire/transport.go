package wire

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/zk/internal/lease"
)

// Transport reads the sockets of many sessions and keeps their pings: a poller or a few, and one schedule, however many
// sessions there are. The zero value is ready. Its goroutines start with the first session and have ended when the last one
// is closed. It may be used by many goroutines.
type Transport struct {
	// Pollers is how many goroutines read sockets; 0 means one for every eight processors. One reads some 300,000 replies a
	// second; more than the processors can feed only costs wake-ups.
	Pollers int

	mu    sync.Mutex
	users int
	eng   *engine
	time  *lease.Clock // nil for the real one
}

// shared is the Transport of sessions that name none, as http.DefaultTransport is for clients: beside the pool of calls the
// one variable of the package that changes. It holds nothing while no session is open.
var shared = new(Transport)

// engine is what a Transport runs while it has sessions.
type engine struct {
	time     *lease.Clock
	clock    atomic.Int64 // in nanoseconds, as of the last time that a poller or the schedule woke; never ahead
	pollers  []*poller
	turn     atomic.Uint32
	schedule *schedule
	dialing  chan struct{} // holds one token a connection being made
}

// maxDialing is how many connections are made at once: beyond the servers' backlog of 50 the kernel drops attempts, and the
// client repeats them only after a second.
const maxDialing = 48

// dialHold is how long an attempt may hold its place among them: a server that does not answer must not keep the sessions
// out that go to another.
const dialHold = 200 * time.Millisecond

// pollers is how many there are for so many processors, where nobody says.
func pollers(processors int) int { return (processors + 7) / 8 }

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

// now reads the clock and leaves the time for those who need it only roughly. It is never ahead, but may be behind by what the machine
// was suspended since the last exact look.
func (e *engine) now() int64 {
	now := int64(e.time.Rough())
	e.clock.Store(now)
	return now
}

// exact looks at the clock that goes on while the machine is suspended, which costs a system call.
func (e *engine) exact() int64 {
	now := int64(e.time.Now())
	e.clock.Store(now)
	return now
}

// poller is the one whose turn it is.
func (e *engine) poller() *poller {
	return e.pollers[e.turn.Add(1)%uint32(len(e.pollers))]
}

// place waits for a place among the connections being made; leave gives it back, as does dialHold.
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
