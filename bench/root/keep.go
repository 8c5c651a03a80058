package root

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/zk"
)

func (r *Root) lost(why error, how string) error {
	return fmt.Errorf("%w during the run: %s: %s", why, r.Path, how)
}

// Renew marks the root as in use by this session, after the session that did so before has ended. It returns ErrGone or ErrTaken if the root no longer
// belongs to the run.
func (r *Root) Renew(ctx context.Context, s zk.Session) error {
	claim, alive := r.Path+"/"+claimName, r.Path+"/"+AliveName
	var t tries
	for {
		if err := r.Verify(ctx, s); err != nil {
			return err
		}
		// The claim is created and removed to make sure that there is none: if a run and a removal start at the same time, one of them wins.
		results, err := s.Multi(ctx, zk.CreateOp(claim, nil, zk.Ephemeral), zk.DeleteOp(claim, zk.AnyVersion), zk.CreateOp(alive, nil, zk.Ephemeral))
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNodeExists) && len(results) > 0 && errors.Is(results[0].Err, zk.ErrNodeExists):
			return r.lost(ErrTaken, "'"+program.Name()+" clean' is removing it")
		case errors.Is(err, zk.ErrNodeExists):
			return nil // it belongs to this session, or to a session of the run that is ending: Watch waits for its end
		case errors.Is(err, zk.ErrNoNode), zk.Classify(err) == zk.ClassMaybeApplied && ctx.Err() == nil && s.Err() == nil:
		default:
			return fmt.Errorf("mark %s as in use: %w", r.Path, err)
		}
		if err := t.next(ctx, s, err); err != nil {
			return fmt.Errorf("mark %s as in use: %w", r.Path, err)
		}
	}
}

// Watch waits until the root no longer belongs to the run, and then returns ErrGone or ErrTaken, or until the session or ctx ends, and then returns nil. It
// costs the servers one watch.
func (r *Root) Watch(ctx context.Context, s zk.Session) error {
	for s.Err() == nil && ctx.Err() == nil {
		err := r.watchOnce(ctx, s)
		switch {
		case errors.Is(err, ErrGone), errors.Is(err, ErrTaken):
			return err
		case err != nil: // from a server that is busy or shutting down
			pause(ctx, s)
		}
	}
	return nil
}

func pause(ctx context.Context, s zk.Session) {
	t := time.NewTimer(time.Second)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-s.Done():
	case <-t.C:
	}
}

func (r *Root) watchOnce(ctx context.Context, s zk.Session) error {
	st, there, w, err := s.ExistsW(ctx, r.Path+"/"+AliveName)
	if err != nil {
		return err
	}
	defer w.Stop()
	if !there {
		if err := r.Renew(ctx, s); err != nil {
			return err
		}
		pause(ctx, s) // it exists now; or servers that deny it are not asked all the time
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-s.Done():
		return nil
	case e := <-w.C():
		if e.Type != zk.EventDeleted || st.EphemeralOwner != s.ID() {
			return nil // look again
		}
	}
	if err := r.Verify(ctx, s); err != nil {
		return err
	}
	return r.lost(ErrTaken, AliveName+" was deleted, so somebody is removing it")
}
