package zktest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// request is one operation in flight: sent, arrived, applied, answered.
type request struct {
	s     *Session
	kind  zk.Kind
	path  string
	watch bool    // arm one; for KindAddWatch a recursive one
	ops   []zk.Op // what a write does; more than one of a Multi
	conn  int     // the connection it was sent on
	sent  time.Duration

	res  result
	tab  table       // of res.watch
	done chan result // capacity 1; nil when the caller has given up
}

// result is what the reply says, in the union of all operations.
type result struct {
	path    string
	stat    zk.Stat
	found   bool
	data    []byte
	names   []string
	results []zk.OpResult
	watch   *zk.Watch
	stream  *stream
	err     error
	zxid    int64
}

// errLost is the package's internal error for a request whose connection broke.
var errLost = errors.New("connection lost")

func (r *request) write() bool { return len(r.ops) > 0 || r.kind == zk.KindMulti }

// maxResent is how many connections may break on one read, as in the native engine.
const maxResent = 10

// call sends a request and waits for its reply. A read whose connection breaks is resent.
func (s *Session) call(ctx context.Context, kind zk.Kind, path string, watch bool, ops ...zk.Op) (result, error) {
	for broke := 1; ; broke++ {
		r := &request{s: s, kind: kind, path: path, watch: watch, ops: ops, done: make(chan result, 1)}
		if err := s.send(ctx, r); err != nil {
			return result{}, &zk.Error{Op: kind, Path: path, Err: err}
		}
		res, err := r.await(ctx)
		if err == errLost && !r.write() {
			if broke < maxResent {
				continue
			}
			err = zk.ErrMaybeApplied
		}
		zk.Replied(ctx, res.zxid)
		if err != nil {
			if kind == zk.KindMulti {
				path = res.path
			}
			err = &zk.Error{Op: kind, Path: path, Err: err}
		}
		return res, err
	}
}

// send waits for a connection and sends the request.
func (s *Session) send(ctx context.Context, r *request) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.ens.mu.Lock()
		if s.err != nil {
			defer s.ens.mu.Unlock()
			return s.err
		}
		up := s.up
		if s.frozen {
			up = s.thawed
		} else if s.connected {
			defer s.ens.mu.Unlock()
			s.sent = s.ens.now()
			r.conn, r.sent = s.conn, s.sent
			s.pending = append(s.pending, r)
			if due := s.lanes[ToServer].due(s.ens.cfg.OpLatency / 2); due > 0 {
				s.ens.after(due, r.arrive)
			} else {
				r.arrive()
			}
			return nil
		}
		s.ens.mu.Unlock()
		select {
		case <-up:
		case <-s.done:
		case <-ctx.Done():
		}
	}
}

// await waits for the reply. A write that is abandoned stays in flight.
func (r *request) await(ctx context.Context) (result, error) {
	select {
	case res := <-r.done:
		return res, res.err
	default:
	}
	select {
	case res := <-r.done:
		return res, res.err
	case <-ctx.Done():
	}
	r.s.ens.mu.Lock()
	defer r.s.ens.mu.Unlock()
	select {
	case res := <-r.done: // the reply came in the same moment
		return res, res.err
	default:
	}
	r.done = nil
	if r.write() {
		return result{}, zk.Abandoned(ctx.Err())
	}
	return result{}, ctx.Err()
}

// arrive is called when the request reaches the server.
func (r *request) arrive() {
	s := r.s
	if !slices.Contains(s.pending, r) || !s.open(ToServer, r.conn) { // lost on the way
		return
	}
	s.heard = s.ens.now()
	busy := true
	select {
	case <-s.arrived:
		busy = false
	default:
	}
	if h := s.ens.hook; h != nil || busy {
		if h == nil {
			h = func(Op) Action { return Action{} }
		}
		before, arrived := s.arrived, make(chan struct{})
		s.arrived = arrived
		go s.ens.hooked(h, r, before, arrived)
		return
	}
	if r.apply() {
		r.reply()
	}
}

// apply carries out the request on the server. It returns false for a request that a server would no longer accept: its session has ended or has
// moved on to another connection, or it is a read whose answer nobody can receive.
func (r *request) apply() bool {
	s, e := r.s, r.s.ens
	if s.removed || s.conn != r.conn || !s.connected && !r.write() {
		return false
	}
	e.counts.Ops[r.kind]++
	switch {
	case r.unknown():
		r.res.err = zk.ErrUnimplemented
	case r.kind == zk.KindMulti && !e.knows.Has(zk.PowerContainers) && slices.ContainsFunc(r.ops, container):
		e.begin(s.id)
		r.res.err = zk.FromCode(-5)
	case r.kind == zk.KindSync:
		s.catchUp()
	case r.write():
		r.transact()
		s.catchUp()
	default:
		r.read()
	}
	r.res.zxid = s.knows()
	return true
}

func container(op zk.Op) bool { return op.Kind == zk.KindCreate && op.Mode == zk.Container }

// unknown reports whether the servers do not know the request. They close the connection after such an answer.
func (r *request) unknown() bool {
	knows := r.s.ens.knows
	return r.kind == zk.KindAddWatch && !knows.Has(zk.PowerAddWatch) || r.kind == zk.KindCreate && container(r.ops[0]) && !knows.Has(zk.PowerContainers)
}

// transact carries out a write.
func (r *request) transact() {
	e := r.s.ens
	st := e.begin(r.s.id)
	if r.kind != zk.KindMulti {
		res, fires, _, err := e.tree.change(r.ops[0], st)
		r.res = result{path: res.Path, stat: res.Stat, err: err}
		e.fire(fires)
		return
	}
	results, fires, failed, err := e.tree.multi(r.ops, st)
	r.res = result{results: results, err: err}
	if err != nil {
		r.res.path = r.ops[failed].Path
	}
	e.fire(fires)
}

// read answers a read from what the session's server knows, and arms the watch atomically with it.
func (r *request) read() {
	t := r.s.ens.tree
	if r.s.view != nil {
		t = r.s.view
	}
	if r.kind == zk.KindAddWatch {
		r.res.stream = r.s.follow(r.path, r.watch, r.s.knows())
		return
	}
	n, ok := t[r.path]
	r.res.found = ok
	r.tab = dataTable
	switch {
	case !ok && r.kind == zk.KindExists:
		r.tab = existTable
	case !ok:
		r.res.err = zk.ErrNoNode
		return
	default:
		r.res.stat = n.record()
	}
	switch r.kind {
	case zk.KindGet:
		r.res.data = append([]byte{}, n.data...)
	case zk.KindChildren:
		r.res.names, r.tab = t.names(r.path), childTable
	}
	if r.watch {
		r.res.watch = r.s.listen(r.tab, r.path, r.s.knows())
	}
}

// reply sends the answer over the connection that the request came on.
func (r *request) reply() {
	latency := r.s.ens.cfg.OpLatency
	r.s.wire(latency-latency/2, r.finish)
}

// finish is called when the reply arrives.
func (r *request) finish() {
	s := r.s
	if !slices.Contains(s.pending, r) {
		return
	}
	s.pending = remove(s.pending, r)
	s.extend(r.sent)
	s.seen = max(s.seen, r.res.zxid)
	if r.done == nil || r.res.err != nil {
		r.unwatch()
	}
	if r.done != nil {
		r.done <- r.res
	}
	if r.unknown() {
		s.ens.disconnect(s)
		s.ens.reconnect(s)
	}
}

// unwatch removes the watch of a request whose caller will not learn of it.
func (r *request) unwatch() {
	if r.res.watch != nil {
		r.s.forget(r.tab, r.path, r.res.watch)
	}
	if r.res.stream != nil {
		r.s.unfollow(r.res.stream)
	}
	r.res.watch, r.res.stream = nil, nil
}

// wire sends something to the session over its current connection: in order, and only if that connection still exists when it arrives.
func (s *Session) wire(latency time.Duration, deliver func()) {
	conn := s.conn
	arrive := func() {
		if !s.open(ToClient, conn) || s.err != nil {
			return
		}
		if !s.frozen {
			deliver()
			return
		}
		s.arrivals = append(s.arrivals, func() {
			if s.connected && s.conn == conn && s.err == nil { // the client was frozen when it arrived, and may have lost the connection since
				deliver()
			}
		})
	}
	due := s.lanes[ToClient].due(latency)
	if due == 0 && s.travelling == 0 {
		arrive()
		return
	}
	s.travelling++
	s.ens.after(due, func() {
		s.travelling--
		arrive()
	})
}

// failPending fails everything in flight when the connection is lost (errLost) or the session has ended. A write may have been applied in either case.
func (s *Session) failPending(cause error) {
	pending := s.pending
	s.pending = nil
	for _, r := range pending {
		r.unwatch()
		err := cause
		switch {
		case r.write() && cause == errLost:
			err = zk.ErrMaybeApplied
		case r.write():
			err = zk.Abandoned(cause)
		}
		if r.done != nil {
			r.done <- result{err: err}
		}
	}
}
