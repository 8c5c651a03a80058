package zktest

import "github.com/zkbench/zkbench/zk"

// Hook stages races. It is called on the server's side right before an operation is applied and right after, before the reply
// leaves. It runs in a goroutine of its own with the ensemble unlocked, so it may block and may use other sessions; what the
// same session asks meanwhile queues behind, as on a server. Calls for different sessions are concurrent.
type Hook func(Op) Action

// Op is one operation as a Hook sees it.
type Op struct {
	Session *Session
	Kind    zk.Kind
	Path    string  // as asked for; "" for a Multi
	Watch   bool    // the operation arms a watch
	Ops     []zk.Op // of a Multi; read only
	Applied bool    // false before the operation is applied, true after

	// Known after it was applied.
	Created zk.Created // of a Create
	Err     error      // the server's answer
}

// Action is what becomes of the operation; the zero value lets it pass.
type Action struct {
	// Err fails the operation with this error. Before, it is not applied. After, it has been.
	Err error
	// Lose breaks the connection of the session and gives it back at once: the request is lost before, the reply after. A
	// write then fails with zk.ErrMaybeApplied, a read is sent again. Other calls of the session that are on their way share
	// the fate, and its watches go through a reconnect.
	Lose bool
	// Names replaces the answer of a Children or ChildrenW, if not nil and after: the list of a server that lags.
	Names []string
}

// Hook replaces the hook; nil takes it away. Operations that have arrived at the server by then keep the one they met.
func (e *Ensemble) Hook(h Hook) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hook = h
}

// hooked carries an operation out between the two calls of the hook. arrived is closed for the next operation of the session.
func (e *Ensemble) hooked(h Hook, r *request, before <-chan struct{}, arrived chan<- struct{}) {
	defer close(arrived)
	<-before
	op := Op{Session: r.s, Kind: r.kind, Path: r.path, Watch: r.watch, Ops: r.ops}
	act := h(op)

	e.mu.Lock()
	if act.Lose || act.Err != nil {
		e.interfere(r, act)
		e.mu.Unlock()
		return
	}
	applied := r.apply()
	op.Applied, op.Err, op.Created = true, r.res.err, zk.Created{Path: r.res.path, Czxid: r.res.stat.Czxid}
	if r.kind != zk.KindCreate || r.res.err != nil {
		op.Created = zk.Created{}
	}
	e.mu.Unlock()
	if !applied {
		return
	}
	act = h(op)

	e.mu.Lock()
	defer e.mu.Unlock()
	if act.Lose || act.Err != nil {
		e.interfere(r, act)
		return
	}
	if act.Names != nil && r.kind == zk.KindChildren {
		r.res.names = act.Names
	}
	r.reply()
}

// interfere does to a request what the hook asked for.
func (e *Ensemble) interfere(r *request, act Action) {
	if !act.Lose {
		r.unwatch()
		r.res = result{err: act.Err, zxid: r.res.zxid}
		r.reply()
		return
	}
	if r.s.connected && r.s.conn == r.conn {
		e.disconnect(r.s)
		e.reconnect(r.s)
	}
}
