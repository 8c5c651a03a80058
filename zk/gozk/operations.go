package gozk

import (
	"context"

	lib "github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/zk"
)

// aclOf returns the ACL of everything that is created: all permissions for the owners, or for world:anyone if there are none.
func aclOf(owners []zk.Identity) []lib.ACL {
	if len(owners) == 0 {
		return lib.WorldACL(lib.PermAll)
	}
	var acl []lib.ACL
	for _, o := range owners {
		acl = append(acl, lib.ACL{Perms: lib.PermAll, Scheme: o.Scheme, ID: o.ID})
	}
	return acl
}

// Create creates a znode. Created.Czxid is always 0.
func (s *Session) Create(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
	if mode == zk.Container && s.noBoxes {
		return zk.Created{}, &zk.Error{Op: zk.KindCreate, Path: path, Err: zk.ErrUnimplemented}
	}
	r := request{kind: zk.KindCreate, path: path, write: true, size: len(path) + len(data) + overhead}
	v, err := s.do(ctx, r, func() (v reply, err error) {
		if mode == zk.Container {
			v.path, err = s.conn.CreateContainer(path, data, int32(mode), s.acl)
		} else {
			v.path, err = s.conn.Create(path, data, int32(mode), s.acl)
		}
		return v, err
	})
	if err != nil {
		return zk.Created{}, err
	}
	return zk.Created{Path: v.path}, nil
}

// Delete removes a znode.
func (s *Session) Delete(ctx context.Context, path string, version int32) error {
	r := request{kind: zk.KindDelete, path: path, write: true, size: len(path) + overhead}
	_, err := s.do(ctx, r, func() (reply, error) { return reply{}, s.conn.Delete(path, version) })
	return err
}

// Set replaces the data of a znode.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error) {
	r := request{kind: zk.KindSet, path: path, write: true, size: len(path) + len(data) + overhead}
	v, err := s.do(ctx, r, func() (reply, error) {
		st, err := s.conn.Set(path, data, version)
		return reply{stat: stat(st, err)}, err
	})
	return v.stat, err
}

// Sync waits until this session's server has caught up with the leader.
func (s *Session) Sync(ctx context.Context, path string) error {
	r := request{kind: zk.KindSync, path: path, size: len(path) + overhead}
	_, err := s.do(ctx, r, func() (reply, error) {
		_, err := s.conn.Sync(path)
		return reply{}, err
	})
	return err
}

// Get reads data and Stat.
func (s *Session) Get(ctx context.Context, path string) ([]byte, zk.Stat, error) {
	v, err := s.do(ctx, s.read(zk.KindGet, path), func() (reply, error) {
		data, st, err := s.conn.Get(path)
		return reply{data: data, stat: stat(st, err)}, err
	})
	return v.data, v.stat, err
}

// Exists reads the Stat of a znode that may be missing.
func (s *Session) Exists(ctx context.Context, path string) (zk.Stat, bool, error) {
	v, err := s.do(ctx, s.read(zk.KindExists, path), func() (reply, error) {
		found, st, err := s.conn.Exists(path)
		found = found && err == nil // the library returns true with any error but NoNode
		return reply{found: found, stat: foundStat(found, st)}, err
	})
	return v.stat, v.found, err
}

// Children lists the children.
func (s *Session) Children(ctx context.Context, path string) ([]string, zk.Stat, error) {
	v, err := s.do(ctx, s.read(zk.KindChildren, path), func() (reply, error) {
		names, st, err := s.conn.Children(path)
		return reply{names: names, stat: stat(st, err)}, err
	})
	return v.names, v.stat, err
}

// GetW is like Get, and arms a data watch.
func (s *Session) GetW(ctx context.Context, path string) ([]byte, zk.Stat, *zk.Watch, error) {
	defer s.watches.unreserve(path)
	v, err := s.do(ctx, s.arming(zk.KindGet, path), func() (reply, error) {
		before := s.watches.ask(path)
		data, st, ch, err := s.conn.GetW(path)
		if err != nil {
			s.watches.refuse(path)
			return reply{}, err
		}
		return reply{data: data, stat: zk.Stat(*st), watch: s.watch(path, dataWatch, before, ch)}, nil
	})
	return v.data, v.stat, v.watch, err
}

// ExistsW is like Exists, and arms a watch even if the znode is missing.
func (s *Session) ExistsW(ctx context.Context, path string) (zk.Stat, bool, *zk.Watch, error) {
	defer s.watches.unreserve(path)
	v, err := s.do(ctx, s.arming(zk.KindExists, path), func() (reply, error) {
		before := s.watches.ask(path)
		found, st, ch, err := s.conn.ExistsW(path)
		if err != nil {
			s.watches.refuse(path)
			return reply{}, err
		}
		kind := existWatch
		if found {
			kind = dataWatch
		}
		return reply{found: found, stat: foundStat(found, st), watch: s.watch(path, kind, before, ch)}, nil
	})
	return v.stat, v.found, v.watch, err
}

// ChildrenW is like Children, and arms a child watch.
func (s *Session) ChildrenW(ctx context.Context, path string) ([]string, zk.Stat, *zk.Watch, error) {
	defer s.watches.unreserve(path)
	v, err := s.do(ctx, s.arming(zk.KindChildren, path), func() (reply, error) {
		before := s.watches.ask(path)
		names, st, ch, err := s.conn.ChildrenW(path)
		if err != nil {
			s.watches.refuse(path)
			return reply{}, err
		}
		return reply{names: names, stat: zk.Stat(*st), watch: s.watch(path, childWatch, before, ch)}, nil
	})
	return v.names, v.stat, v.watch, err
}

// read describes a read without a watch.
func (s *Session) read(kind zk.Kind, path string) request {
	return request{kind: kind, path: path, size: len(path) + overhead}
}

// arming describes a read that arms a watch. There must be room for the request in which the library arms all watches again after a reconnect: if
// there is not, it drops that request, and the watches stay silent forever. The caller must call unreserve.
func (s *Session) arming(kind zk.Kind, path string) request {
	return request{kind: kind, path: path, size: s.watches.reserve(path) + overhead}
}

// stat converts the Stat of a reply; zero if err is not nil.
func stat(st *lib.Stat, err error) zk.Stat { return foundStat(err == nil, st) }

func foundStat(found bool, st *lib.Stat) zk.Stat {
	if !found || st == nil {
		return zk.Stat{}
	}
	return zk.Stat(*st)
}

var _ zk.Session = (*Session)(nil)
