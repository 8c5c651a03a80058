package counter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// lockSuffix is appended to a counter's path for the lock of clients that were refused.
const lockSuffix = "-lock"

// tagsKept is how many additions a counter remembers. Whether an addition whose reply was lost has been made can be determined as long as no more than
// this many additions have followed the value that it was made to.
const tagsKept = 8

// tally is the data of a counter: the value, and the tags of the most recent additions, the latest last. The text is the value, alone or followed by
// the tags, separated by blanks.
type tally struct {
	value int64
	tags  []string
}

func (t tally) bytes() []byte {
	return []byte(strings.Join(append([]string{strconv.FormatInt(t.value, 10)}, t.tags...), " "))
}

// plus returns the tally after an addition.
func (t tally) plus(delta int64, tag string) tally {
	tags := append(slices.Clone(t.tags), tag)
	return tally{t.value + delta, tags[max(0, len(tags)-tagsKept):]}
}

func parseTally(data []byte) (tally, error) {
	words := strings.Fields(string(data))
	if len(words) == 0 {
		return tally{}, nil // somebody has created the znode and nothing else
	}
	n, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return tally{}, recipes.ErrNoCounter
	}
	return tally{n, words[1:]}, nil
}

// casCounter is a compare-and-set loop on the version of one znode. The version alone does not show whose write it counts, so after a lost reply the
// author is unknown: each addition therefore leaves a tag in the data, made of the handle's id and a number.
type casCounter struct {
	s     zk.Session
	path  string
	o     recipes.Options
	id    string // of this handle, in its tags
	seq   int
	czxid int64 // of the znode as it was first seen
}

func newCounter(s zk.Session, path string, o recipes.Options) *casCounter {
	return &casCounter{s: s, path: path, o: o, id: strconv.FormatUint(rand.Uint64(), 36)}
}

// Value reads the counter.
func (c *casCounter) Value(ctx context.Context) (int64, error) {
	t, _, err := c.read(ctx)
	if errors.Is(err, zk.ErrNoNode) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", c.path, err)
	}
	return t.value, nil
}

// read returns the counter. The error is zk.ErrNoNode if there is none and this handle has never seen one.
func (c *casCounter) read(ctx context.Context) (tally, zk.Stat, error) {
	data, st, err := c.s.Get(ctx, c.path)
	switch {
	case errors.Is(err, zk.ErrNoNode) && c.czxid != 0, err == nil && c.czxid != 0 && c.czxid != st.Czxid:
		return tally{}, st, recipes.ErrCounterLost
	case err != nil:
		return tally{}, st, err
	}
	t, err := parseTally(data)
	if err == nil {
		c.czxid = st.Czxid
	}
	return t, st, err
}

// Add adds to the counter.
func (c *casCounter) Add(ctx context.Context, delta int64) (recipes.Count, error) {
	var n recipes.Count
	if err := c.add(ctx, delta, &n, func() bool { return false }); err != nil {
		return recipes.Count{}, fmt.Errorf("add to %s: %w", c.path, err)
	}
	return n, nil
}

// errRefused: somebody else wrote first, as often as was acceptable.
var errRefused = errors.New("refused")

// add tries until it has added, or until enough says after a refusal to stop: errRefused.
func (c *casCounter) add(ctx context.Context, delta int64, n *recipes.Count, enough func() bool) error {
	c.seq++
	tag := c.id + ":" + strconv.Itoa(c.seq)
	var passes znode.Passes
	for wait := 0; ; {
		before, st, err := c.read(ctx)
		missing := errors.Is(err, zk.ErrNoNode)
		if err != nil && !missing {
			return err
		}
		c.o.Pause(recipes.PauseRead)
		n.Attempts++
		after := before.plus(delta, tag)
		if missing {
			n.Token, err = c.begin(ctx, after)
		} else {
			n.Token, err = c.write(ctx, st, after)
		}
		class := zk.Classify(err)
		if class == zk.ClassMaybeApplied {
			var added bool
			if added, err = c.find(ctx, tag, st); added {
				n.Token = 0
			} else if err == nil { // it was not made, and with this version it can be made only once
				if err := passes.Next(ctx, st.Mzxid); err != nil {
					return err
				}
				continue
			}
		}
		switch {
		case err == nil:
			n.Value = after.value
			return nil
		case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNodeExists):
			if enough() {
				return errRefused
			}
			if err := passes.Next(ctx, st.Mzxid); err != nil {
				return err
			}
		case class == zk.ClassThrottled, class == zk.ClassNotSent:
			wait++
			if err := znode.Sleep(ctx, znode.Backoff(wait)); err != nil {
				return err
			}
		case errors.Is(err, zk.ErrNoNode) && !missing:
			return recipes.ErrCounterLost
		case znode.Doubtful(err) && !errors.Is(err, recipes.ErrInDoubt): // the session ended with the write in flight
			return fmt.Errorf("%w: %w", recipes.ErrInDoubt, err)
		default:
			return err
		}
	}
}

// begin creates the counter with the first addition in it.
func (c *casCounter) begin(ctx context.Context, first tally) (token int64, err error) {
	made, err := c.s.Create(ctx, c.path, first.bytes(), zk.Persistent)
	if errors.Is(err, zk.ErrNoNode) {
		if err := znode.MakeParents(ctx, c.s, znode.Parent(c.path)); err != nil {
			return 0, err
		}
		made, err = c.s.Create(ctx, c.path, first.bytes(), zk.Persistent)
	}
	return made.Czxid, err
}

// write replaces the counter if it is still as st describes it. After 2^31-1 the version continues at -2^31. On its way servers without
// ZOOKEEPER-4743 give it the value -1, which in a request matches any version (CURATOR-688): the comparison always succeeds. There, of the sessions
// that have read the same state, the one that creates a znode named after this state may write. The znode stays: one per 2^32 writes.
func (c *casCounter) write(ctx context.Context, st zk.Stat, after tally) (token int64, err error) {
	if st.Version != zk.AnyVersion {
		st, err := c.s.Set(ctx, c.path, after.bytes(), st.Version)
		return st.Mzxid, err
	}
	turn := fmt.Sprintf("%s-wrap-%x", c.path, st.Mzxid)
	results, err := c.s.Multi(ctx, zk.CreateOp(turn, nil, zk.Persistent), zk.SetOp(c.path, after.bytes(), zk.AnyVersion))
	if err != nil {
		return 0, err
	}
	return results[1].Stat.Mzxid, nil
}

// find determines whether an addition whose reply was lost was made: its tag is there, or it is not and cannot have been dropped since. Otherwise the
// error is ErrInDoubt. before is what the addition was made to, the zero Stat if it was to create the counter. Once the session has a connection
// again and its server has caught up, what was sent on the old connection has been applied or never will be.
func (c *casCounter) find(ctx context.Context, tag string, before zk.Stat) (added bool, err error) {
	var t tally
	var st zk.Stat
	err = znode.Insist(ctx, func() error { return c.s.Sync(ctx, c.path) })
	if err == nil {
		err = znode.Insist(ctx, func() (err error) { t, st, err = c.read(ctx); return })
	}
	sets := int64(uint32(st.Version - before.Version)) // since then
	if before.Czxid == 0 {
		sets++ // and the creation
	}
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%w: %w", recipes.ErrInDoubt, err)
	case slices.Contains(t.tags, tag):
		return true, nil
	case sets <= int64(len(t.tags)):
		return false, nil
	}
	return false, fmt.Errorf("%w: %d writes have followed", recipes.ErrInDoubt, sets)
}

// promoted is a counter whose client, after some refusals, takes a lock and continues under it. The lock does not exclude clients that have not been
// refused, and the version is compared under it as well: so losing the lock does no harm.
type promoted struct {
	*casCounter
	lock  recipes.Lock
	after int // refusals
}

// Add adds to the counter.
func (p *promoted) Add(ctx context.Context, delta int64) (n recipes.Count, err error) {
	refused := 0
	err = p.add(ctx, delta, &n, func() bool { refused++; return refused >= p.after })
	if errors.Is(err, errRefused) {
		err = p.addLocked(ctx, delta, &n)
	}
	if err != nil {
		return recipes.Count{}, fmt.Errorf("add to %s: %w", p.path, err)
	}
	return n, nil
}

func (p *promoted) addLocked(ctx context.Context, delta int64, n *recipes.Count) error {
	if _, err := p.lock.Acquire(ctx); err != nil {
		return err
	}
	n.Promoted = true
	err := p.add(ctx, delta, n, func() bool { return false })
	p.lock.Release(ctx) // it continues in the background if necessary, and does not affect the outcome of the addition
	return err
}
