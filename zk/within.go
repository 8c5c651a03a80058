package zk

import (
	"context"
	"errors"
	"strings"
)

// ErrOutside: a write to a znode that is not below the one that the session is bound to by [Within]. Nothing was sent.
var ErrOutside = errors.New("outside the znode that this session may write below")

// Within returns a session that writes only below the znode dir: a write to dir itself, above it or next to it returns ErrOutside. Reads are not
// restricted. Creating dir, or a znode above it, returns ErrNodeExists if it exists according to the servers, because a recipe may create parents
// starting from the root. Within keeps a load from touching foreign data, and a recipe that creates missing parents from bringing back a removed dir.
func Within(s Session, dir string) Session { return &bound{s, strings.TrimSuffix(dir, "/") + "/"} }

// ServerOf returns the address of the server that a session is connected to: "" while it is not connected, or if the engine does not report it.
func ServerOf(s Session) string {
	if w, wrapped := s.(wrapper); wrapped {
		return ServerOf(w.Unwrap())
	}
	if notify, ok := s.(interface{ Server() string }); ok {
		return notify.Server()
	}
	return ""
}

type bound struct {
	Session
	dir string // with a trailing slash; "": it may write anywhere
}

// Unwrap returns the session below, for optional powers such as persistent watches.
func (b *bound) Unwrap() Session { return b.Session }

func (b *bound) check(op Kind, path string) error {
	if b.dir == "" || len(path) > len(b.dir) && strings.HasPrefix(path, b.dir) || path == b.dir && op == KindCreate { // a sequential child with no prefix
		return nil
	}
	return &Error{Op: op, Path: path, Err: ErrOutside}
}

func (b *bound) Create(ctx context.Context, path string, data []byte, mode Mode) (Created, error) {
	if err := b.check(KindCreate, path); err != nil {
		if strings.HasPrefix(b.dir, path+"/") {
			if _, there, unknown := b.Session.Exists(ctx, path); unknown != nil {
				return Created{}, unknown
			} else if there {
				err = &Error{Op: KindCreate, Path: path, Err: ErrNodeExists}
			}
		}
		return Created{}, err
	}
	return b.Session.Create(ctx, path, data, mode)
}

func (b *bound) Delete(ctx context.Context, path string, version int32) error {
	if err := b.check(KindDelete, path); err != nil {
		return err
	}
	return b.Session.Delete(ctx, path, version)
}

func (b *bound) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	if err := b.check(KindSet, path); err != nil {
		return Stat{}, err
	}
	return b.Session.Set(ctx, path, data, version)
}

func (b *bound) Multi(ctx context.Context, ops ...Op) ([]OpResult, error) {
	for _, op := range ops {
		if op.Kind == KindCheck {
			continue
		}
		if err := b.check(op.Kind, op.Path); err != nil {
			return nil, err
		}
	}
	return b.Session.Multi(ctx, ops...)
}
