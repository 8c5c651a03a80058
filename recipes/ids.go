package recipes

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/zkbench/zkbench/zk"
)

// IDs is one client's handle on a generator of numbers that no two clients ever get. A handle is used by one goroutine at a time.
type IDs interface {
	// Next gives a number above 0 that is greater than all that any client had been given when the call began. Numbers are left out. When
	// the context or the session ends the number of this call, if it was drawn, is lost. ErrIDsExhausted and ErrIDsRestarted: the
	// handle, and every other one, would give numbers again.
	Next(ctx context.Context) (int64, error)
}

// Errors of generators.
var (
	// ErrIDsExhausted: nearly all numbers have been given; the next would soon begin again.
	ErrIDsExhausted = errors.New("the numbers are used up")
	// ErrIDsRestarted: the znode that counts was made anew since the handle first saw it, so that the numbers begin again.
	ErrIDsRestarted = errors.New("the generator was made anew and its numbers begin again")
)

// Generators is the catalogue of generators of ids.
var Generators = []Variant[IDs]{
	{
		Name: "id-version", Source: "the version of a znode, which every write increments; ZooKeeper's programmer's guide",
		Doc: "writes a znode and takes its new version: one write each, 2^32 ids, as many requests under way as there are clients",
		New: func(s zk.Session, path string, o Options) IDs { return &versionIDs{s: s, path: path, o: o} },
	},
	{
		Name: "id-sequential", Source: "sequential znodes, ZooKeeper's programmer's guide, 'Sequence Nodes -- Unique Naming'",
		Doc: "makes a sequential znode, takes the number in its name and deletes it: two writes each, 2^32 ids",
		New: func(s zk.Session, path string, o Options) IDs {
			return &createdIDs{s: s, dir: path, o: o, number: numberOfName}
		},
	},
	{
		Name: "id-czxid", Source: "the transaction that made a znode, as Curator's and etcd's users take it for a fencing token",
		Doc: "makes a znode, takes its czxid and deletes it: two writes each, ids of 64 bits that outlive their directory, with gaps",
		New: func(s zk.Session, path string, o Options) IDs {
			return &createdIDs{s: s, dir: path, o: o, number: czxidOf}
		},
	},
}

// lastID is the last that is given of numbers with 32 bits. Those that are left let every client find out before they begin again.
const lastID = math.MaxUint32 - 1<<20

// versionIDs takes the version that a write without a condition gives a znode. A write whose reply was lost is made again: its number
// may be lost, and nothing else. The version goes from 2^31-1 to -2^31 and is read without its sign.
type versionIDs struct {
	s     zk.Session
	path  string
	o     Options
	czxid int64 // of the znode as it was first seen
	over  error // that no more numbers are given, and why
}

// Next is described at IDs.
func (v *versionIDs) Next(ctx context.Context) (int64, error) {
	if v.over != nil {
		return 0, v.over
	}
	var st zk.Stat
	err := insist(ctx, func() (err error) {
		st, err = v.s.Set(ctx, v.path, nil, zk.AnyVersion)
		if !errors.Is(err, zk.ErrNoNode) || v.czxid != 0 {
			return err
		}
		if _, err := v.s.Create(ctx, v.path, nil, zk.Persistent); errors.Is(err, zk.ErrNoNode) {
			if err := makeParents(ctx, v.s, parent(v.path)); err != nil {
				return err
			}
			v.s.Create(ctx, v.path, nil, zk.Persistent) // the write that follows finds out
		}
		st, err = v.s.Set(ctx, v.path, nil, zk.AnyVersion)
		return err
	})
	id := int64(uint32(st.Version))
	switch {
	case errors.Is(err, zk.ErrNoNode) && v.czxid != 0, err == nil && v.czxid != 0 && v.czxid != st.Czxid:
		err = ErrIDsRestarted
	case err == nil && (id > lastID || id == 0): // 0 is what follows the last version
		err = ErrIDsExhausted
	case err == nil:
		v.czxid = st.Czxid
		return id, nil
	}
	err = fmt.Errorf("next id of %s: %w", v.path, err)
	if errors.Is(err, ErrIDsRestarted) || errors.Is(err, ErrIDsExhausted) {
		v.over = err
	}
	return 0, err
}

// createdIDs takes a number of a znode that it makes. The znode is ephemeral, so that one whose reply was lost goes with the session;
// the directory is no container, because a directory that is made anew counts from 0 again.
type createdIDs struct {
	s      zk.Session
	dir    string
	o      Options
	number func(ctx context.Context, g *createdIDs, c zk.Created) (int64, error)
	last   int64 // that was given
	over   error // that no more numbers are given, and why
}

const idPrefix = "id-"

// Next is described at IDs.
func (g *createdIDs) Next(ctx context.Context) (int64, error) {
	if g.over != nil {
		return 0, g.over
	}
	var c zk.Created
	err := insist(ctx, func() (err error) {
		c, err = g.s.Create(ctx, g.dir+"/"+idPrefix, nil, zk.EphemeralSequential)
		if !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := makeParents(ctx, g.s, g.dir); err != nil {
			return err
		}
		c, err = g.s.Create(ctx, g.dir+"/"+idPrefix, nil, zk.EphemeralSequential)
		return err
	})
	var id int64
	if err == nil {
		id, err = g.number(ctx, g, c)
		remove(ctx, g.s, c.Path, g.o) // what is left of it goes with the session
	}
	if err == nil {
		return id, nil
	}
	err = fmt.Errorf("next id of %s: %w", g.dir, err)
	if errors.Is(err, ErrIDsRestarted) || errors.Is(err, ErrIDsExhausted) {
		g.over = err
	}
	return 0, err
}

// numberOfName is the number that the server has put to the name, read without its sign, from 1 on. One that is not
// above this handle's last tells that the directory was made anew. What another handle was given before, this one cannot know: whoever
// deletes the directory has to know that nobody uses its numbers any more.
func numberOfName(_ context.Context, g *createdIDs, c zk.Created) (int64, error) {
	seq, ok := parse(base(c.Path), []string{idPrefix})
	id := int64(uint32(seq)) + 1
	switch {
	case !ok:
		return 0, fmt.Errorf("%s: %w", c.Path, errNotListed)
	case id <= g.last:
		return 0, ErrIDsRestarted
	case id > lastID:
		return 0, ErrIDsExhausted
	}
	g.last = id
	return id, nil
}

// czxidOf is the transaction that made the znode.
func czxidOf(ctx context.Context, g *createdIDs, c zk.Created) (int64, error) {
	return zk.Token(ctx, g.s, c)
}
