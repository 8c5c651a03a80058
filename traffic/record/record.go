package record

import (
	"io"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/traffic/trace"
)

// Config says what a trace is of.
type Config struct {
	Maker, Source string // of its header
	Names         bool   // keep the names of znodes instead of hashes
	Salt          string // of the hashes; should be different for each trace
}

// Counts is what has been recorded.
type Counts struct {
	Sessions, Requests, Events int64 // Sessions opened or taken up again; Events are those of watches
	Expired                    int64 // sessions that the servers ended, or whose clients have been away for as long as their timeout
	Unanswered                 int64 // requests whose connection ended before the reply
	Late                       int64 // replies that came when their requests had to be written without: behind so many others
	Unknown                    int64 // requests of kinds that a trace does not know
}

// Recorder writes a trace of what it is shown. It is the Tap of one proxy, or of several one after the other. Events are in the order in which they passed, so one is written only once all before it are
// complete; a request keeps at most 131,072 others waiting for its reply. All methods may be called concurrently.
type Recorder struct {
	w     *trace.Writer
	names *trace.Names // nil: paths stay as they are
	start time.Time

	numbered int // sessions with a number

	mu       sync.Mutex
	room     sync.Cond // there is room in queue, or it is over
	queue    []*entry  // from the first one that is not written on
	free     []*entry
	conns    map[uint64]*connection
	sessions map[int64]*session
	away     map[*session]time.Duration // sessions without a connection, and since when
	counts   Counts
	closed   bool
	err      error

	work    chan struct{} // there is something for the writing goroutine
	written chan struct{} // closed when the writing goroutine is over
	failed  chan struct{} // closed when the trace cannot be written
}

// entry is an event on its way into the trace.
type entry struct {
	e       trace.Event
	session *session
	done    bool // nothing will be added to it
	dropped bool // it is no event after all
	written bool
}

type connection struct {
	session   *session
	handshake *entry
	asked     int64            // session that the client had, 0 for a new one
	pending   map[int32]*entry // requests that await their reply, by xid
}

type session struct {
	id      int64
	number  int // in the trace; -1: none yet. Only the writing goroutine uses it
	timeout time.Duration
	conns   int
	gone    *entry // its expiry, which may yet turn out not to have been one, as long as it is not written
}

// The most events that are held: most for those that wait for a reply, and twice as many for those that the disk is too slow for.
const (
	mostWaiting = 1 << 17
	mostHeld    = 2 * mostWaiting
	atOnce      = 4096                  // events that wake the writing goroutine
	every       = 50 * time.Millisecond // and otherwise this
	flushed     = time.Second
)

// New begins a trace in w. Close completes it.
func New(w io.Writer, c Config) (*Recorder, error) {
	r := &Recorder{start: time.Now(), conns: map[uint64]*connection{}, sessions: map[int64]*session{}, away: map[*session]time.Duration{},
		work: make(chan struct{}, 1), written: make(chan struct{}), failed: make(chan struct{})}
	r.room.L = &r.mu
	if !c.Names {
		r.names = trace.NewNames(c.Salt)
	}
	var err error
	if r.w, err = trace.NewWriter(w, trace.Header{Maker: c.Maker, Source: c.Source, Start: r.start.UTC().Truncate(time.Microsecond), Names: c.Names, Reads: true}); err != nil {
		return nil, err
	}
	go r.write()
	return r, nil
}

// Failed is closed when the trace cannot be written. What passes from then on is not recorded; Close returns why.
func (r *Recorder) Failed() <-chan struct{} { return r.failed }

// Counts returns what has been recorded so far.
func (r *Recorder) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}

// Close completes the trace with what has been shown. It may be called more than once.
func (r *Recorder) Close() error {
	r.mu.Lock()
	r.closed = true
	r.wake()
	r.room.Broadcast()
	r.mu.Unlock()
	<-r.written
	return r.err
}

// Frame records a request, completes one with its reply, or records a watch event. Pings, credentials and the watches that a client sets again after a reconnection are
// none of them.
func (r *Recorder) Frame(conn uint64, f proxy.Frame, body []byte) {
	var e trace.Event
	switch {
	case f.On == proxy.Notification:
		e = trace.Event{Kind: trace.Notify, Path: path(f.Path), Code: f.Event}
	case f.On == proxy.Request:
		switch f.Op {
		case jute.OpPing, jute.OpAuth, jute.OpSASL, jute.OpSetWatches, jute.OpSetWatches2:
			return
		case jute.OpConnect, jute.OpClose:
		default:
			request(&e, f, body)
		}
	case f.Op == jute.OpPing || f.Xid < 0:
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) >= mostHeld && !r.closed && r.err == nil {
		r.room.Wait()
	}
	if r.closed || r.err != nil {
		return
	}
	c := r.conns[conn]
	if c == nil {
		c = &connection{pending: map[int32]*entry{}}
		r.conns[conn] = c
	}
	now := time.Since(r.start)
	switch {
	case f.On == proxy.Notification:
		r.counts.Events++
		r.push(now, c.session, e).done = true
	case f.On == proxy.Request && f.Op == jute.OpConnect:
		c.handshake, c.asked = r.push(now, nil, e), f.Session
	case f.On == proxy.Request && f.Op == jute.OpClose:
		r.over(c.session)
		r.push(now, c.session, trace.Event{Kind: trace.Close}).done = true
	case f.On == proxy.Request:
		r.counts.Requests++
		if e.Op == trace.OtherOp {
			r.counts.Unknown++
		} else {
			e.Code = trace.Pending
		}
		c.pending[f.Xid] = r.push(now, c.session, e)
	case f.Op == jute.OpConnect:
		r.answered(c, f, body, now)
	default:
		r.replied(c, f, body, now)
	}
}

// push adds an event to the queue. r.mu must be held.
func (r *Recorder) push(at time.Duration, s *session, e trace.Event) *entry {
	var n *entry
	if last := len(r.free) - 1; last >= 0 {
		n, r.free = r.free[last], r.free[:last]
	} else {
		n = &entry{}
	}
	e.At = at
	*n = entry{e: e, session: s}
	r.queue = append(r.queue, n)
	if len(r.queue)%atOnce == 0 {
		r.wake()
	}
	return n
}

func (r *Recorder) wake() {
	select {
	case r.work <- struct{}{}:
	default:
	}
}

// over notes that a session has ended. r.mu must be held.
func (r *Recorder) over(s *session) {
	if s == nil {
		return
	}
	delete(r.away, s)
	if r.sessions[s.id] == s {
		delete(r.sessions, s.id)
	}
	if s.gone != nil && !s.gone.written {
		s.gone.done = true
	}
}

// answered completes a handshake: a session was opened, or was there before, or goes on, or has expired. r.mu must be held.
func (r *Recorder) answered(c *connection, f proxy.Frame, body []byte, now time.Duration) {
	asked := c.handshake
	if c.handshake = nil; asked == nil || asked.written {
		return
	}
	asked.done = true
	got, err := jute.ParseConnectReply(body)
	if f.Err != 0 || err != nil {
		asked.dropped = true
		if s := r.sessions[c.asked]; s != nil {
			if s.gone == nil {
				r.counts.Expired++
				r.push(now, s, trace.Event{Kind: trace.Expire}).done = true
			}
			r.over(s)
		}
		return
	}
	s := r.sessions[f.Session]
	if s != nil && s.gone != nil {
		if s.gone.written { // it has expired, as far as the trace goes
			r.over(s)
			s = nil
		} else {
			r.counts.Expired--
			s.gone.done, s.gone.dropped, s.gone = true, true, nil
		}
	}
	if s != nil {
		asked.dropped = true
	} else {
		s = &session{id: f.Session, number: -1, timeout: got.Timeout}
		r.sessions[s.id] = s
		r.counts.Sessions++
		asked.session = s
		asked.e.Kind, asked.e.Timeout, asked.e.Took = trace.Open, max(0, got.Timeout), now-asked.e.At
		if c.asked != 0 {
			asked.e.Kind = trace.Resume
		}
	}
	s.conns++
	delete(r.away, s)
	c.session = s
}

// replied completes a request. r.mu must be held.
func (r *Recorder) replied(c *connection, f proxy.Frame, body []byte, now time.Duration) {
	n := c.pending[f.Xid]
	if n == nil {
		return
	}
	delete(c.pending, f.Xid)
	if n.written {
		r.counts.Late++
		return
	}
	reply(&n.e, f, body)
	n.e.Took = now - n.e.At
	n.done = true
}

// Ended completes what a connection leaves: requests without a reply, and a session that may expire.
func (r *Recorder) Ended(conn uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.conns[conn]
	if c == nil {
		return
	}
	delete(r.conns, conn)
	for _, n := range c.pending {
		if !n.written {
			n.done = true
			r.counts.Unanswered++
		}
	}
	if n := c.handshake; n != nil && !n.written {
		n.done, n.dropped = true, true
	}
	if s := c.session; s != nil {
		if s.conns--; s.conns == 0 && r.sessions[s.id] == s {
			r.away[s] = time.Since(r.start)
		}
	}
}

// expire records the expiry of sessions that have had no connection for as long as their timeout. Servers may give them somewhat longer, so it stands only if they do not come back within as much
// again. r.mu must be held.
func (r *Recorder) expire(now time.Duration) {
	for s, since := range r.away {
		switch {
		case s.gone == nil && now-since >= s.timeout:
			r.counts.Expired++
			s.gone = r.push(now, s, trace.Event{Kind: trace.Expire})
		case s.gone != nil && now-since >= 2*s.timeout:
			r.over(s)
		}
	}
}

// write writes what is complete, until Close.
func (r *Recorder) write() {
	defer close(r.written)
	tick := time.NewTicker(every)
	defer tick.Stop()
	var batch []*entry
	flush, over := time.Now(), false
	for !over {
		select {
		case <-r.work:
		case <-tick.C:
		}
		batch, over = r.take(batch[:0])
		err := r.put(batch)
		if now := time.Now(); err == nil && !over && now.Sub(flush) >= flushed {
			flush, err = now, r.w.Flush()
		}
		r.recycle(batch, err)
		over = over || err != nil
	}
	if err := r.w.Close(); err != nil { // the first error again, or that of the end
		r.recycle(nil, err)
	}
}

// take takes what is to be written off the queue: what is complete, and what others cannot wait for any longer.
func (r *Recorder) take(batch []*entry) (_ []*entry, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(time.Since(r.start))
	n := 0
	for n < len(r.queue) && (r.queue[n].done || r.closed || len(r.queue)-n > mostWaiting) {
		r.queue[n].written = true
		n++
	}
	batch = append(batch, r.queue[:n]...)
	r.queue = append(r.queue[:0], r.queue[n:]...)
	return batch, r.closed
}

// put writes a batch. Nobody else changes what is written.
func (r *Recorder) put(batch []*entry) error {
	for _, n := range batch {
		if n.dropped || n.e.Kind == trace.Prefill { // a handshake that nobody has answered
			continue
		}
		n.e.Session = -1
		if s := n.session; s != nil {
			if s.number < 0 {
				s.number = r.numbered
				r.numbered++
			}
			n.e.Session = s.number
		}
		if r.names != nil {
			r.hash(&n.e)
			for i := range n.e.Ops {
				r.hash(&n.e.Ops[i])
			}
		}
		if err := r.w.Write(&n.e); err != nil {
			return err
		}
	}
	return nil
}

func (r *Recorder) hash(e *trace.Event) { e.Path, e.Got = r.names.Path(e.Path), r.names.Path(e.Got) }

// recycle keeps what nobody refers to any more for further events, and makes room.
func (r *Recorder) recycle(batch []*entry, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range batch {
		if n.done && (n.e.Kind == trace.Request || n.e.Kind == trace.Notify) && len(r.free) < atOnce {
			r.free = append(r.free, n)
		}
	}
	if err != nil && r.err == nil {
		r.err = err
		close(r.failed)
	}
	r.room.Broadcast()
}
