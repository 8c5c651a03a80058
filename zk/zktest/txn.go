package zktest

import (
	"time"

	"github.com/zkbench/zkbench/zk"
)

// trigger is one change as the watch manager of the server sees it.
type trigger struct {
	typ  zk.EventType
	path string
	zxid int64
}

// change carries out one write on the tree under one zxid and returns what it triggers, in the server's order
// (DataTree.createNode, deleteNode, setData).
func (t tree) change(op zk.Op, st stamp) (res zk.OpResult, fires []trigger, undo func(), err error) {
	parent, _ := parentOf(op.Path)
	undo = func() {}
	switch op.Kind {
	case zk.KindCreate:
		res.Path, undo, err = t.create(op.Path, op.Data, op.Mode, st)
		fires = []trigger{{zk.EventCreated, res.Path, st.zxid}, {zk.EventChildrenChanged, parent, st.zxid}}
	case zk.KindDelete:
		undo, err = t.delete(op.Path, op.Version, st)
		fires = []trigger{{zk.EventDeleted, op.Path, st.zxid}, {zk.EventChildrenChanged, parent, st.zxid}}
	case zk.KindSet:
		undo, err = t.set(op.Path, op.Data, op.Version, st)
		fires = []trigger{{zk.EventDataChanged, op.Path, st.zxid}}
	case zk.KindCheck:
		_, err = t.at(op.Path, op.Version)
	default:
		err = zk.ErrBadArguments
	}
	if err != nil {
		return zk.OpResult{Err: err}, nil, nil, err
	}
	switch op.Kind {
	case zk.KindCreate:
		res.Stat = t[res.Path].record()
	case zk.KindSet:
		res.Stat = t[op.Path].record()
	}
	return res, fires, undo, nil
}

// multi carries out all ops or none. After a failure the ops before it carry no error, the ones after it ErrRolledBack, as
// the server answers (DataTree.processTxn).
func (t tree) multi(ops []zk.Op, st stamp) (results []zk.OpResult, fires []trigger, failed int, err error) {
	results = make([]zk.OpResult, len(ops))
	var undos []func()
	for i, op := range ops {
		res, f, undo, err := t.change(op, st)
		if err == nil {
			results[i] = res
			fires, undos = append(fires, f...), append(undos, undo)
			continue
		}
		for j := len(undos) - 1; j >= 0; j-- {
			undos[j]()
		}
		clear(results)
		results[i].Err = err
		for j := i + 1; j < len(ops); j++ {
			results[j].Err = zk.ErrRolledBack
		}
		return results, nil, i, err
	}
	return results, fires, -1, nil
}

// begin opens a transaction: a write takes a zxid whether it succeeds or not, because the leader turns a refusal into an
// error transaction that goes through the log like any other.
func (e *Ensemble) begin(session int64) stamp {
	e.freezeViews()
	e.zxid++
	return stamp{zxid: e.zxid, ms: time.Now().UnixMilli(), session: session}
}

// fire hands the changes of a transaction to the watches of every session, in the order of the sessions.
func (e *Ensemble) fire(fires []trigger) {
	for _, t := range fires {
		if t.typ == zk.EventCreated && e.cfg.Created != nil {
			e.cfg.Created(t.path)
		}
		for _, s := range e.sessions {
			s.trigger(t)
		}
	}
}

// removeSession applies the closeSession transaction: all ephemerals of the session go under one zxid.
func (e *Ensemble) removeSession(s *Session) {
	if s.removed {
		return
	}
	s.removed = true
	s.disarm()
	st := e.begin(s.id)
	var fires []trigger
	for _, path := range e.tree.owned(s.id) {
		_, f, _, _ := e.tree.change(zk.DeleteOp(path, zk.AnyVersion), st)
		fires = append(fires, f...)
	}
	e.sessions = remove(e.sessions, s)
	e.fire(fires)
}

func remove[T comparable](list []T, x T) []T {
	for i, y := range list {
		if x == y {
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}
