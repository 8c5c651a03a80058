package gozk

import (
	"context"
	"strings"

	lib "github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/zk"
)

// Multi carries out all ops or none. A container cannot be created: the library sends its create as one of a persistent znode.
func (s *Session) Multi(ctx context.Context, ops ...zk.Op) ([]zk.OpResult, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	r := request{kind: zk.KindMulti, path: ops[0].Path, write: true, size: overhead}
	asked := make([]any, len(ops))
	for i, op := range ops {
		r.size += len(op.Path) + len(op.Data) + overhead
		var err error
		if asked[i], err = s.libraryOp(op); err != nil { // the library checks no paths here
			return nil, &zk.Error{Op: zk.KindMulti, Path: op.Path, Err: err}
		}
	}
	v, err := s.do(ctx, r, func() (reply, error) {
		answers, err := s.conn.Multi(asked...)
		return reply{results: results(answers)}, err
	})
	return v.results, err
}

// libraryOp converts op to the library's type.
func (s *Session) libraryOp(op zk.Op) (any, error) {
	if !validPath(op.Path, op.Kind == zk.KindCreate && op.Mode.Sequential()) {
		return nil, zk.ErrBadArguments
	}
	switch op.Kind {
	case zk.KindCheck:
		return &lib.CheckVersionRequest{Path: op.Path, Version: op.Version}, nil
	case zk.KindDelete:
		return &lib.DeleteRequest{Path: op.Path, Version: op.Version}, nil
	case zk.KindSet:
		return &lib.SetDataRequest{Path: op.Path, Data: op.Data, Version: op.Version}, nil
	case zk.KindCreate:
		if op.Mode == zk.Container {
			return nil, zk.ErrUnimplemented
		}
		return &lib.CreateRequest{Path: op.Path, Data: op.Data, Acl: s.acl, Flags: int32(op.Mode)}, nil
	}
	return nil, zk.ErrBadArguments
}

func results(answers []lib.MultiResponse) []zk.OpResult {
	if answers == nil {
		return nil
	}
	res := make([]zk.OpResult, len(answers))
	for i, a := range answers {
		res[i].Path = a.String
		if a.Stat != nil {
			res[i].Stat = zk.Stat(*a.Stat)
		}
		_, res[i].Err = translate(a.Error)
	}
	return res
}

// validPath makes the checks that the library makes on the path of any other request (validatePath, after PathUtils of the Java client), except for
// characters beyond ASCII, which are left to the server.
func validPath(path string, sequential bool) bool {
	if path == "/" {
		return true
	}
	if sequential { // the number belongs to the last name
		path += "0"
	}
	if !strings.HasPrefix(path, "/") {
		return false
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return strings.IndexFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}
