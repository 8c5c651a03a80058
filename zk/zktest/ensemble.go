package zktest

import (
	"container/heap"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// Config describes an ensemble. The zero value is one without latency.
type Config struct {
	// Timeout is the session timeout that Dial grants, 10 s if 0. If it is too low, a short partition expires sessions; if it is too high, a test in
	// real time waits long for an expiry.
	Timeout time.Duration
	// OpLatency is the time from a call to its reply; the server applies the operation halfway. 0 means no delay.
	OpLatency time.Duration
	// EventLatency is the time from a change to the arrival of its event. Whatever it is, events and replies of one session
	// arrive in the order in which its server sent them, so a late event delays the replies behind it.
	EventLatency time.Duration
	// Version is that of the servers, such as 3.4.13; "" for the newest. Servers that lack a power (zk.PowersOf) answer a request that needs it with
	// zk.ErrUnimplemented and close the connection, or a transaction with a container with zk.ErrFailed; keep the watches that were given up until their event;
	// and send events without zxids.
	Version string
	// Hook runs before and after every operation; see Hook. Nil for none.
	Hook Hook
	// Created is called with the path of each znode that is created, while the ensemble is locked: it must not call the ensemble. Nil for none.
	Created func(path string)
}

// Ensemble is a ZooKeeper service in memory. It is safe for concurrent use.
//
// Trace hooks of zk.Observe run while the ensemble is locked and must not call it.
type Ensemble struct {
	cfg   Config
	knows zk.Powers
	start time.Time

	mu       sync.Mutex
	tree     tree
	zxid     int64
	lastID   int64
	sessions []*Session // alive on the servers, in the order of Dial
	hook     Hook
	agenda   agenda
	filed    int
	counts   Counts
}

// New creates an ensemble that contains only the system znodes.
func New(cfg Config) *Ensemble {
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	return &Ensemble{cfg: cfg, knows: zk.PowersOf(cfg.Version), start: time.Now(), tree: newTree(), zxid: 1 << 32, lastID: 1 << 56, hook: cfg.Hook, counts: newCounts()}
}

// Dial opens a session with the timeout of the Config.
func (e *Ensemble) Dial() *Session { return e.DialTimeout(e.cfg.Timeout) }

// DialTimeout opens a session with the given timeout.
func (e *Ensemble) DialTimeout(timeout time.Duration) *Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lastID++
	e.begin(e.lastID)
	s := &Session{ens: e, id: e.lastID, timeout: timeout, waiting: newWaiting(), armed: newArmed(),
		done: make(chan struct{}), up: make(chan struct{}),
		down: make(chan struct{}), connected: true, arrived: closedChan()}
	close(s.up)
	e.sessions = append(e.sessions, s)
	return s
}

// Expire ends a session on the servers, whatever its client does. A connected client learns of it immediately; a disconnected one when it reconnects,
// like every ZooKeeper client.
func (e *Ensemble) Expire(s zk.Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.expire(e.session(s))
}

func (e *Ensemble) expire(s *Session) {
	e.removeSession(s)
	switch {
	case !s.open(ToClient, s.conn):
	case s.frozen:
		s.arrivals = append(s.arrivals, s.drop)
	default:
		s.end(zk.ErrSessionExpired)
	}
}

// Disconnect cuts the connection of a session until Reconnect. Its client knows immediately: requests that have not arrived at the server are lost,
// those that have are carried out; the writes among both fail with zk.ErrMaybeApplied, the reads are resent. The server expires the session when its
// timeout has passed without a Reconnect. It does nothing to a session that is disconnected or has ended; a frozen one learns of it from Thaw.
func (e *Ensemble) Disconnect(s zk.Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.disconnect(e.session(s))
}

func (e *Ensemble) disconnect(s *Session) {
	if !s.connected || s.err != nil {
		return
	}
	if s.frozen {
		s.lanes[ToServer].silent, s.lanes[ToClient].silent = true, true
		s.arrivals = append(s.arrivals, s.drop)
		return
	}
	s.drop()
}

// Reconnect restores the connection of a session: a session that has expired learns so; otherwise its watches are armed again and report what they
// have missed. Requests of the old connection that a Hook still delays are no longer carried out. It does nothing to a frozen session.
func (e *Ensemble) Reconnect(s zk.Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reconnect(e.session(s))
}

func (e *Ensemble) reconnect(s *Session) {
	if s.frozen || s.err != nil {
		return
	}
	if s.connected && (s.lanes[ToServer].silent || s.lanes[ToClient].silent) {
		s.drop() // what was lost cannot arrive any more: the old connection is useless
	}
	if s.connected {
		return
	}
	s.connected, s.down = true, make(chan struct{})
	s.conn++
	s.catchUp()
	s.arrived = closedChan()
	close(s.up)
	s.tellLink(zk.LinkTried)
	if s.removed {
		s.end(zk.ErrSessionExpired)
		return
	}
	s.tellLink(zk.LinkMade)
	s.strained = false
	s.settle()
	s.rearm()
}

// session finds the Session below zk.Observe; a test that passes a session of another engine is wrong.
func (e *Ensemble) session(s zk.Session) *Session {
	for {
		switch t := s.(type) {
		case *Session:
			if t.ens == e {
				return t
			}
		case interface{ Unwrap() zk.Session }:
			s = t.Unwrap()
			continue
		}
		panic(fmt.Sprintf("zktest: %T is no session of this ensemble", s))
	}
}

// item is something that happens at a given time. Timers for the same time run in no particular order, so each of them only drains the agenda, which
// keeps the order in which items were filed.
type item struct {
	due   time.Time
	order int
	do    func()
}

type agenda []item

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].due.Before(a[j].due) || a[i].due.Equal(a[j].due) && a[i].order < a[j].order
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(item)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	(*a)[last] = item{}
	*a = (*a)[:last]
	return x
}

// after calls do after d, with the ensemble locked.
//
// No timer is due at once: in a synctest bubble the goroutine that sets such a
// timer runs it, with a race context that all timers of the bubble share, and
// two goroutines that do so at once crash the race detector (golang/go#78156).
func (e *Ensemble) after(d time.Duration, do func()) {
	e.filed++
	heap.Push(&e.agenda, item{due: time.Now().Add(d), order: e.filed, do: do})
	if d <= 0 {
		go e.drain()
		return
	}
	time.AfterFunc(d, e.drain)
}

func (e *Ensemble) drain() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for now := time.Now(); len(e.agenda) > 0 && !e.agenda[0].due.After(now); {
		heap.Pop(&e.agenda).(item).do()
	}
}

func closedChan() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
