package setting

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// cache follows one znode. A read with a watch costs no more than one without, so a persistent watch would save nothing here: it would send an event
// for each version, where a one-shot watch sends one for all that are written before the next read.
type cache struct {
	s     zk.Session
	path  string
	o     recipes.Options
	seen  recipes.SettingValue // as of the last look
	known int64                // this session's server knows everything up to this transaction
	armed *zk.Watch            // fires at the next change; nil if there is none
}

// Set replaces the setting.
func (c *cache) Set(ctx context.Context, data []byte) (int64, error) {
	token, err := c.set(ctx, data)
	if err != nil {
		return 0, fmt.Errorf("set %s: %w", c.path, err)
	}
	return token, nil
}

func (c *cache) set(ctx context.Context, data []byte) (int64, error) {
	var passes znode.Passes
	for try := 1; ; try++ {
		st, err := c.s.Set(ctx, c.path, data, zk.AnyVersion)
		if errors.Is(err, zk.ErrNoNode) {
			st.Mzxid, err = c.begin(ctx, data)
		}
		switch class := zk.Classify(err); {
		case err == nil:
			return st.Mzxid, nil
		case class == zk.ClassMaybeApplied:
			return c.find(ctx, data, err)
		case class == zk.ClassThrottled, class == zk.ClassNotSent:
			if err := znode.Sleep(ctx, znode.Backoff(try)); err != nil {
				return 0, err
			}
		case znode.Doubtful(err): // the session ended with the write in flight
			return 0, fmt.Errorf("%w: %w", recipes.ErrInDoubt, err)
		case !errors.Is(err, zk.ErrNodeExists):
			return 0, err
		default: // somebody created it in the meantime
			if err := passes.Next(ctx, nil); err != nil {
				return 0, err
			}
		}
	}
}

// begin creates the znode with its first version.
func (c *cache) begin(ctx context.Context, data []byte) (int64, error) {
	made, err := c.s.Create(ctx, c.path, data, zk.Persistent)
	if errors.Is(err, zk.ErrNoNode) {
		if err := znode.MakeParents(ctx, c.s, znode.Parent(c.path)); err != nil {
			return 0, err
		}
		made, err = c.s.Create(ctx, c.path, data, zk.Persistent)
	}
	return made.Czxid, err
}

// find determines the outcome of a write. It was made if the data are there; otherwise somebody may have overwritten them, and writing them again
// would restore what others have replaced.
func (c *cache) find(ctx context.Context, data []byte, cause error) (int64, error) {
	var is []byte
	var st zk.Stat
	err := znode.CatchUp(ctx, c.s, c.path)
	if err == nil {
		err = znode.Insist(ctx, func() (err error) { is, st, err = c.s.Get(ctx, c.path); return })
	}
	if err == nil && bytes.Equal(is, data) {
		return st.Mzxid, nil
	}
	return 0, fmt.Errorf("%w: %w", recipes.ErrInDoubt, errors.Join(cause, err))
}

// Watch waits for a later version.
func (c *cache) Watch(ctx context.Context, last recipes.SettingValue) (recipes.SettingValue, error) {
	var passes znode.Passes
	for caughtUp := false; ; {
		err := c.look(ctx, last, &passes)
		now := c.seen
		switch {
		case err != nil:
		case now.Exists && now.Token > last.Token:
			now.Missed = missed(last, now)
			return now, nil
		case now.Exists == last.Exists && (!now.Exists || now.Token == last.Token):
			armed := c.armed
			c.armed = nil
			c.o.Pause(recipes.PauseArmed)
			err = znode.Await(ctx, armed)
			c.o.Pause(recipes.PauseWoken)
		case !now.Exists && c.known >= last.Token:
			now.Token, now.Version, now.Czxid = last.Token, last.Version, last.Czxid
			return now, nil
		case caughtUp:
			err = recipes.ErrTokenUnknown
		default: // this session's server is behind what another one has shown
			c.Stop()
			caughtUp = true
			if err = znode.CatchUp(ctx, c.s, c.path); err == nil || errors.Is(err, zk.ErrNoNode) {
				c.known, err = last.Token, nil
			}
		}
		if err != nil && !errors.Is(err, zk.ErrWatchLost) {
			return recipes.SettingValue{}, fmt.Errorf("watch %s: %w", c.path, err)
		}
	}
}

// missed returns how many versions lie between two settings. The version goes from 2^31-1 to -2^31.
func missed(last, now recipes.SettingValue) int64 {
	switch {
	case last.Czxid == now.Czxid:
		return int64(uint32(now.Version-last.Version)) - 1
	case last.Czxid != 0:
		return int64(uint32(now.Version))
	}
	return 0
}

// look reads the setting and arms the watch on it, unless the armed one shows that the last look is still current. last is what the caller has: its data are not read again.
func (c *cache) look(ctx context.Context, last recipes.SettingValue, passes *znode.Passes) error {
	if c.armed != nil {
		select {
		case <-c.armed.C():
		default:
			return nil
		}
	}
	c.armed = nil
	if c.o.Watch != "exists" {
		data, st, w, err := c.s.GetW(ctx, c.path)
		if !errors.Is(err, zk.ErrNoNode) {
			return c.saw(data, st, true, w, err)
		}
	}
	st, there, w, err := c.s.ExistsW(ctx, c.path) // a missing znode can have no other watch
	if err != nil || !there || st.Mzxid == last.Token {
		return c.saw(last.Data, st, there, w, err)
	}
	data, st, err := c.s.Get(ctx, c.path)
	if err != nil {
		w.Stop()
	}
	if errors.Is(err, zk.ErrNoNode) { // it was created or deleted in between
		if err := passes.Next(ctx, st.Czxid); err != nil {
			return err
		}
		return c.look(ctx, last, passes)
	}
	return c.saw(data, st, true, w, err)
}

// saw stores what a look has shown.
func (c *cache) saw(data []byte, st zk.Stat, there bool, w *zk.Watch, err error) error {
	if err != nil {
		return err
	}
	c.seen, c.armed = recipes.SettingValue{Exists: there}, w
	if there {
		c.seen = recipes.SettingValue{Data: data, Exists: true, Token: st.Mzxid, Version: st.Version, Czxid: st.Czxid}
		c.known = max(c.known, st.Mzxid)
	}
	return nil
}

// Stop takes the watch off the servers.
func (c *cache) Stop() {
	if c.armed != nil {
		c.armed.Stop()
	}
	c.armed = nil
}
