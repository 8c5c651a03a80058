package zk

import (
	"context"
	"errors"
	"strings"
)

// ErrOutside: a write to a znode that is not below the one that the session is bound to by [Within]. Nothing was sent.
var ErrOutside = errors.New("outside the znode that this session may write below")

// Within returns a session that writes nothing but what is below the znode dir: a write to dir itself, above or beside it is ErrOutside.
// Reads are not bounded. To create dir, or what is above it, is ErrNodeExists while it is there, as of the servers: a recipe may make parents from the
// root on. It keeps a load from touching what is not its own, and a recipe that makes missing parents from bringing a
// removed dir back.
func Within(s Session, dir string) Session { return &bound{s, strings.TrimSuffix(dir, "/") + "/"} }

// ServerOf is the address of the server that a session is connected to: "" while it is not, or where the engine does not tell.
func ServerOf(s Session) string {
	if w, wrapped := s.(wrapper); wrapped {
		return ServerOf(w.Unwrap())
	}
	if told, ok := s.(interface{ Server() string }); ok {
		return told.Server()
	}
	return ""
}

type bound struct {
	Session
	dir string // with a slash behind it
}

// Unwrap returns the session below, for optional powers such as persistent watches.
func (b *bound) Unwrap() Session { return b.Session }

func (b *bound) check(op Kind, path string) error {
	if len(path) > len(b.dir) && strings.HasPrefix(path, b.dir) || path == b.dir && op == KindCreate { // a sequential child with no prefix
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
