package zk

import (
	"context"
	"errors"
)

// Ephemerals calls found with the Stat of each ephemeral znode below path, and listed, which may be nil, with that of each znode whose children it
// has listed, path included. It skips znodes that are removed in the meantime; path may be missing.
func Ephemerals(ctx context.Context, s Session, path string, listed, found func(Stat)) error {
	names, st, err := s.Children(ctx, path)
	if err != nil {
		if errors.Is(err, ErrNoNode) {
			return nil
		}
		return err
	}
	if listed != nil {
		listed(st)
	}
	for _, name := range names {
		child := path + "/" + name
		st, there, err := s.Exists(ctx, child)
		switch {
		case err != nil:
			return err
		case there && st.EphemeralOwner != 0:
			found(st)
		case there && st.NumChildren > 0:
			if err := Ephemerals(ctx, s, child, listed, found); err != nil {
				return err
			}
		}
	}
	return nil
}
