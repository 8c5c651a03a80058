package zktest

import (
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/zk"
)

// Hook stages races. It is called on the server's side right before an operation is applied and right after, before the reply is sent. It runs in its
// own goroutine with the ensemble unlocked, so it may block and may use other sessions; further requests of the same session queue behind it, as on a
// server. Calls for different sessions are concurrent.
type Hook func(Op) Action

// Op is one operation as a Hook sees it.
type Op struct {
	Session *Session
	Kind    zk.Kind
	Path    string  // as requested; "" for a Multi
	Watch   bool    // the operation arms a watch
	Ops     []zk.Op // of a Multi; read-only
	Applied bool    // false before the operation is applied, true after

	// Known once it has been applied.
	Created zk.Created // of a Create
	Err     error      // the server's answer
}

// Action is what happens to the operation; the zero value lets it pass.
type Action struct {
	// Err fails the operation with this error. Before, it is not applied; after, it has been.
	Err error
	// Lose breaks the connection of the session and restores it immediately: the request is lost before, the reply after. A write then fails with
	// zk.ErrMaybeApplied, a read is resent. Other calls of the session in flight share its fate, and its watches go through a reconnect.
	Lose bool
	// Refuse, together with Lose, makes the servers refuse what the session sends first on the new connection: with zk.ErrAuthFailed its credentials,
	// which ends the session; with any other error the request that arms its watches again, which loses all of them.
	Refuse error
	// Names, if not nil, replaces the answer of a Children or ChildrenW after it was applied: the list of a server that lags.
	Names []string
}

// Refusing returns a Hook that answers requests of a kind with an error code of the wire protocol, without carrying them out, whenever on returns
// true. As in the engines, -101 in answer to an exists means that there is no such znode.
func Refusing(kind zk.Kind, code int32, on func(Op) bool) Hook {
	return func(op Op) Action {
		if op.Applied || op.Kind != kind || !on(op) {
			return Action{}
		}
		return Action{Err: zk.FromCode(code)}
	}
}

// Hook replaces the hook; nil removes it. Operations that have arrived at the server by then keep the previous one.
func (e *Ensemble) Hook(h Hook) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hook = h
}

// hooked carries out an operation between the two calls of the hook. arrived is closed to admit the next operation of the session.
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

// interfere does to a request what the hook requested.
func (e *Ensemble) interfere(r *request, act Action) {
	if !act.Lose {
		r.unwatch()
		r.res = result{err: act.Err, zxid: r.res.zxid}
		if r.kind == zk.KindExists && errors.Is(act.Err, zk.ErrNoNode) {
			r.res.err = nil
			if r.watch {
				r.tab = existTable
				r.res.watch = r.s.listen(r.tab, r.path, r.s.knows())
			}
		}
		r.reply()
		return
	}
	if r.s.connected && r.s.conn == r.conn {
		e.disconnect(r.s)
		if errors.Is(act.Refuse, zk.ErrAuthFailed) {
			r.s.end(zk.ErrAuthFailed)
			return
		}
		if act.Refuse != nil {
			r.s.waiting.lose(zk.ErrWatchLost, fmt.Errorf("the server does not arm the watch again: %w", act.Refuse))
		}
		e.reconnect(r.s)
	}
}
