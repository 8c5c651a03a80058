package recipes

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/zk"
)

// Setting is a version of a znode's data. The zero value is that of one who has seen nothing yet.
type Setting struct {
	Data    []byte
	Exists  bool  // false: the znode is missing
	Token   int64 // the transaction that wrote it (mzxid), by which versions are ordered; of a znode that went, of its last version
	Version int32 // of the znode, which counts from 0 again when it is made anew
	Czxid   int64 // of the znode
	// Missed is how many versions lie between the last setting and this one. Of a znode that was made anew, which a larger Czxid tells,
	// it is those since then: how many the old one still had, nothing tells.
	Missed int64
}

// Config is one client's handle on a setting: as a writer, as a reader, or as both. A handle is used by one goroutine at a time.
type Config interface {
	// Set replaces the setting, which is made when it is missing, whatever others have written, and returns the token of the new version,
	// 0 of the first one with an engine whose create does not tell it. The error is ErrInDoubt when nothing tells whether it was
	// written; after every other error it was not.
	Set(ctx context.Context, data []byte) (token int64, err error)
	// Watch waits for a setting that is later than last, the zero Setting for any that exists, or for the end of its znode. It never
	// gives an earlier one, also when last was seen in another session. Of what is written while nobody waits it gives the latest
	// version alone. ErrTokenUnknown: the servers know no transaction as late as last.
	Watch(ctx context.Context, last Setting) (Setting, error)
	// Stop takes the watch of a Watch that has returned off the servers. The handle can be used on.
	Stop()
}

// Configs is the catalogue of caches of a setting.
var Configs = []Variant[Config]{
	{
		Name: "cache", Source: "ZooKeeper's recipe page, 'Configuration'; the order of versions is that of Apache Curator's SharedValue",
		Doc:   "a copy of a znode's data, read again with a watch after each event: versions in between are missed, and none comes back",
		Watch: []string{"get", "exists"},
		New:   func(s zk.Session, path string, o Options) Config { return &cache{s: s, path: path, o: o} },
	},
}

// cache follows one znode. A read with a watch costs no more than one without, so a persistent watch would save nothing here: it would
// send an event for each version, where a one-shot watch sends one for all that are written before the next read.
type cache struct {
	s     zk.Session
	path  string
	o     Options
	seen  Setting   // as of the last look
	known int64     // the server of this session knows all up to this transaction
	armed *zk.Watch // tells of the next change; nil when there is none
}

// Set is described at Config.
func (c *cache) Set(ctx context.Context, data []byte) (int64, error) {
	token, err := c.set(ctx, data)
	if err != nil {
		return 0, fmt.Errorf("set %s: %w", c.path, err)
	}
	return token, nil
}

func (c *cache) set(ctx context.Context, data []byte) (int64, error) {
	for try := 1; ; try++ {
		st, err := c.s.Set(ctx, c.path, data, zk.AnyVersion)
		if errors.Is(err, zk.ErrNoNode) {
			st.Mzxid, err = c.begin(ctx, data)
		}
		switch class := zk.Classify(err); {
		case err == nil:
			return st.Mzxid, nil
		case class == zk.ClassMaybeApplied:
			c.o.retry("set", class)
			return c.find(ctx, data, err)
		case class == zk.ClassThrottled, class == zk.ClassNotSent:
			c.o.retry("set", class)
			if err := pause(ctx, backoff(try)); err != nil {
				return 0, err
			}
		case !errors.Is(err, zk.ErrNodeExists): // else somebody made it meanwhile
			return 0, err
		}
	}
}

// begin makes the znode with its first version.
func (c *cache) begin(ctx context.Context, data []byte) (int64, error) {
	made, err := c.s.Create(ctx, c.path, data, zk.Persistent)
	if errors.Is(err, zk.ErrNoNode) {
		if err := makeParents(ctx, c.s, parent(c.path)); err != nil {
			return 0, err
		}
		made, err = c.s.Create(ctx, c.path, data, zk.Persistent)
	}
	return made.Czxid, err
}

// find tells what became of a write. It was made if the data are there; otherwise somebody may have written over them, and writing them
// again would bring back what others have replaced.
func (c *cache) find(ctx context.Context, data []byte, cause error) (int64, error) {
	var is []byte
	var st zk.Stat
	err := catchUp(ctx, c.s, c.path)
	if err == nil {
		err = insist(ctx, func() (err error) { is, st, err = c.s.Get(ctx, c.path); return })
	}
	if err == nil && bytes.Equal(is, data) {
		return st.Mzxid, nil
	}
	return 0, fmt.Errorf("%w: %w", ErrInDoubt, errors.Join(cause, err))
}

// Watch is described at Config.
func (c *cache) Watch(ctx context.Context, last Setting) (Setting, error) {
	for caughtUp := false; ; {
		err := c.look(ctx, last)
		now := c.seen
		switch {
		case err != nil:
		case now.Exists && now.Token > last.Token:
			now.Missed = missed(last, now)
			return now, nil
		case now.Exists == last.Exists && (!now.Exists || now.Token == last.Token):
			armed := c.armed
			c.armed = nil
			c.o.pause(PauseArmed)
			err = await(ctx, armed)
			c.o.pause(PauseWoken)
		case !now.Exists && c.known >= last.Token:
			now.Token, now.Version, now.Czxid = last.Token, last.Version, last.Czxid
			return now, nil
		case caughtUp:
			err = ErrTokenUnknown
		default: // the server of this session is behind what another one has shown
			c.Stop()
			caughtUp = true
			if err = catchUp(ctx, c.s, c.path); err == nil || errors.Is(err, zk.ErrNoNode) {
				c.known, err = last.Token, nil
			}
		}
		if err != nil && !errors.Is(err, zk.ErrWatchLost) {
			return Setting{}, fmt.Errorf("watch %s: %w", c.path, err)
		}
	}
}

// missed is how many versions lie between two settings. The version goes from 2^31-1 to -2^31.
func missed(last, now Setting) int64 {
	switch {
	case last.Czxid == now.Czxid:
		return int64(uint32(now.Version-last.Version)) - 1
	case last.Czxid != 0:
		return int64(uint32(now.Version))
	}
	return 0
}

// look reads the setting and arms the watch on it, unless the armed one says that the last look is still right. last is what the caller
// has: its data are not read again.
func (c *cache) look(ctx context.Context, last Setting) error {
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
	st, there, w, err := c.s.ExistsW(ctx, c.path) // a missing znode has no watch but this one
	if err != nil || !there || st.Mzxid == last.Token {
		return c.saw(last.Data, st, there, w, err)
	}
	data, st, err := c.s.Get(ctx, c.path)
	if err != nil {
		w.Stop()
	}
	if errors.Is(err, zk.ErrNoNode) {
		return c.look(ctx, last) // it came or went in between
	}
	return c.saw(data, st, true, w, err)
}

// saw keeps what a look has shown.
func (c *cache) saw(data []byte, st zk.Stat, there bool, w *zk.Watch, err error) error {
	if err != nil {
		return err
	}
	c.seen, c.armed = Setting{Exists: there}, w
	if there {
		c.seen = Setting{Data: data, Exists: true, Token: st.Mzxid, Version: st.Version, Czxid: st.Czxid}
		c.known = max(c.known, st.Mzxid)
	}
	return nil
}

// Stop is described at Config.
func (c *cache) Stop() {
	if c.armed != nil {
		c.armed.Stop()
	}
	c.armed = nil
}
