package workloads

import (
	"context"

	"github.com/zkbench/zkbench/traffic/replay"
	"github.com/zkbench/zkbench/traffic/trace"
	"github.com/zkbench/zkbench/zk"
)

// sending is a request on its way.
type sending struct {
	session  zk.Session
	round    *round
	item     *replay.Item
	unmapped bool // the servers have not named the znode: its create has failed in the replay
}

// path returns the path of an action.
func (s *sending) path(a *replay.Action) string {
	path, known := s.round.path(a.Path)
	s.unmapped = s.unmapped || !known
	if a.Op == trace.Create && a.Flags&trace.Sequential == 0 { // it is known before the answer, to later requests of the session and of the same multi
		s.round.born(a.Birth, path)
	}
	return path
}

func mode(f trace.Flags) zk.Mode {
	switch {
	case f&trace.Ephemeral != 0 && f&trace.Sequential != 0:
		return zk.EphemeralSequential
	case f&trace.Ephemeral != 0:
		return zk.Ephemeral
	case f&trace.Sequential != 0:
		return zk.PersistentSequential
	}
	return zk.Persistent
}

// do sends the request, and notes the names that the servers give.
func (s *sending) do(ctx context.Context) error {
	a := &s.item.Action
	if a.Op == trace.NoOp {
		return s.fail(ctx)
	}
	if a.Op == trace.Multi {
		return s.multi(ctx)
	}
	path := s.path(a)
	switch a.Op {
	case trace.Create:
		if s.item.Kind == replay.Own && a.Flags&trace.Sequential != 0 {
			path, _, _ = trace.Numbered(path)
		}
		made, err := s.session.Create(ctx, path, data(a.Size), mode(a.Flags))
		if err == nil {
			s.round.born(a.Birth, made.Path)
		}
		return err
	case trace.Delete:
		return s.session.Delete(ctx, path, a.Version)
	case trace.Set:
		_, err := s.session.Set(ctx, path, data(a.Size), a.Version)
		return err
	case trace.Sync:
		return s.session.Sync(ctx, path)
	}
	return s.read(ctx, a, path)
}

func (s *sending) read(ctx context.Context, a *replay.Action, path string) (err error) {
	there := true
	switch watch := a.Flags&trace.Watch != 0; {
	case a.Op == trace.Get && watch:
		_, _, _, err = s.session.GetW(ctx, path)
	case a.Op == trace.Get:
		_, _, err = s.session.Get(ctx, path)
	case a.Op == trace.Exists && watch:
		_, there, _, err = s.session.ExistsW(ctx, path)
	case a.Op == trace.Exists:
		_, there, err = s.session.Exists(ctx, path)
	case watch:
		_, _, _, err = s.session.ChildrenW(ctx, path)
	default:
		_, _, err = s.session.Children(ctx, path)
	}
	if err == nil && !there {
		err = &zk.Error{Op: zk.KindExists, Path: path, Err: zk.ErrNoNode}
	}
	return err
}

func (s *sending) multi(ctx context.Context) error {
	var ops []zk.Op
	for i := range s.item.Ops {
		a := &s.item.Ops[i]
		path := s.path(a)
		switch a.Op {
		case trace.Create:
			ops = append(ops, zk.CreateOp(path, data(a.Size), mode(a.Flags)))
		case trace.Delete:
			ops = append(ops, zk.DeleteOp(path, a.Version))
		case trace.Set:
			ops = append(ops, zk.SetOp(path, data(a.Size), a.Version))
		case trace.Check:
			ops = append(ops, zk.CheckOp(path, a.Version))
		case trace.NoOp:
			ops = append(ops, s.failing(a.Code))
		}
	}
	results, err := s.session.Multi(ctx, ops...)
	if err == nil {
		for i := range s.item.Ops {
			s.round.born(s.item.Ops[i].Birth, results[i].Path)
		}
	}
	return err
}

// failing returns a write that fails with a code: of a failed write, the files of servers have nothing else. For other codes it is one that does not fail: an operation of a multi that another one of it makes fail.
func (s *sending) failing(code int32) zk.Op {
	dir, present := s.round.dir, s.round.dir+"/present"
	switch code {
	case replay.NoNode:
		return zk.DeleteOp(present+"/absent", zk.AnyVersion)
	case replay.NodeExists:
		return zk.CreateOp(present, nil, zk.Persistent)
	case replay.NotEmpty:
		return zk.DeleteOp(dir, zk.AnyVersion)
	case replay.BadVersion:
		return zk.SetOp(present, nil, 1<<30) // a version that it never has
	}
	return zk.CheckOp(present, zk.AnyVersion)
}

// fail sends a write that fails with the recorded code.
func (s *sending) fail(ctx context.Context) (err error) {
	switch op := s.failing(s.item.Code); op.Kind {
	case zk.KindCreate:
		_, err = s.session.Create(ctx, op.Path, op.Data, op.Mode)
	case zk.KindDelete:
		err = s.session.Delete(ctx, op.Path, op.Version)
	default:
		_, err = s.session.Set(ctx, op.Path, op.Data, op.Version)
	}
	return err
}
