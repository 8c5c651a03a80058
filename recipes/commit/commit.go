package commit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
	"github.com/zkbench/zkbench/zk"
)

// The values of votes and decisions. A znode without data is a vote that has not been cast.
const (
	commitWord = "commit"
	abortWord  = "abort"
)

func word(commit bool) []byte {
	if commit {
		return []byte(commitWord)
	}
	return []byte(abortWord)
}

// site is what the variants have in common. The transaction's znode has as its data a guid, the number of sites, their deadline and the payload. Its
// children are: s_1 to s_n, the votes, persistent because a vote that has been cast must outlive its session; decision, created once; alive_1 to
// alive_n, ephemeral (with Options.Alive); ack_1 to ack_n.
type site struct {
	s    zk.Session
	path string
	o    recipes.Options

	members  int
	data     []byte    // of the transaction; nil if not known
	deadline time.Time // when this site stops waiting for the others; zero if it has not learnt yet
	proposed bool      // by this handle
	voted    []byte    // what this handle has voted; nil if nothing
	polls    []*poll   // the votes of the others, once they are watched
}

func newSite(s zk.Session, path string, o recipes.Options) *site {
	return &site{s: s, path: path, o: o, members: max(o.Members, 1)}
}

func (c *site) vote(i int) string { return fmt.Sprintf("%s/s_%d", c.path, i) }

func (c *site) alive(i int) string { return fmt.Sprintf("%s/alive_%d", c.path, i) }

func (c *site) ack(i int) string { return fmt.Sprintf("%s/ack_%d", c.path, i) }

func (c *site) decision() string { return c.path + "/decision" }

// describe returns the data of a transaction.
func describe(guid string, members int, deadline time.Duration, payload []byte) []byte {
	return fmt.Appendf(nil, "%s %d %d %s", guid, members, deadline.Milliseconds(), payload)
}

// parseTransaction parses the output of describe.
func parseTransaction(data []byte) (members int, deadline time.Duration, payload []byte, err error) {
	parts := strings.SplitN(string(data), " ", 4)
	if len(parts) != 4 {
		return 0, 0, nil, fmt.Errorf("%q describes no transaction", data)
	}
	members, err = strconv.Atoi(parts[1])
	ms, err2 := strconv.ParseInt(parts[2], 10, 64)
	if err := errors.Join(err, err2); err != nil || members < 1 || ms < 0 {
		return 0, 0, nil, fmt.Errorf("%q describes no transaction: %w", data, err)
	}
	return members, time.Duration(ms) * time.Millisecond, []byte(parts[3]), nil
}

// Propose starts the transaction. The guid distinguishes this transaction, if the reply was lost, from somebody else's.
func (c *site) Propose(ctx context.Context, payload []byte) error {
	data := describe(znode.NewGUID(), c.members, c.o.Deadline, payload)
	ops := []zk.Op{zk.CreateOp(c.path, data, zk.Persistent)}
	for i := range c.members {
		ops = append(ops, zk.CreateOp(c.vote(i+1), nil, zk.Persistent))
	}
	if err := c.propose(ctx, ops, data); err != nil {
		return fmt.Errorf("propose %s: %w", c.path, err)
	}
	c.data = data
	return c.begun(ctx)
}

// begun notes that this handle has proposed the transaction.
func (c *site) begun(ctx context.Context) error {
	c.proposed, c.deadline = true, time.Now().Add(c.o.Deadline)
	c.o.Pause(recipes.PauseProposed)
	if c.o.Alive {
		if err := c.live(ctx); err != nil {
			return fmt.Errorf("propose %s: %w", c.path, gone(err))
		}
	}
	return nil
}

func (c *site) propose(ctx context.Context, ops []zk.Op, data []byte) error {
	doubt := false
	var passes znode.Passes
	for {
		err := c.write(ctx, &doubt, func() error { _, err := c.s.Multi(ctx, ops...); return err })
		switch {
		case errors.Is(err, zk.ErrNoNode):
			if err := znode.MakeParents(ctx, c.s, znode.Parent(c.path)); err != nil {
				return err
			}
			if err := passes.Next(ctx, nil); err != nil {
				return err
			}
			continue
		case !errors.Is(err, zk.ErrNodeExists):
			return err
		case !doubt:
			return recipes.ErrProposed
		}
		found, err := c.read(ctx, c.path)
		if err != nil {
			return gone(err)
		}
		if string(found) != string(data) {
			return recipes.ErrProposed
		}
		return nil
	}
}

// write repeats a write that is refused or lost, and sets doubt if an earlier attempt may have been carried out.
func (c *site) write(ctx context.Context, doubt *bool, send func() error) error {
	return znode.Insist(ctx, func() error {
		err := send()
		if zk.Classify(err) == zk.ClassMaybeApplied {
			*doubt = true
		}
		return err
	})
}

// read returns the data of a znode that is known to exist unless it has been removed: it waits for a server that lags behind.
func (c *site) read(ctx context.Context, path string) (data []byte, err error) {
	get := func() error {
		return znode.Insist(ctx, func() (err error) { data, _, err = c.s.Get(ctx, path); return })
	}
	if err = get(); errors.Is(err, zk.ErrNoNode) {
		if err = znode.CatchUp(ctx, c.s, path); err == nil {
			err = get()
		}
	}
	return data, err
}

// gone converts the absence of a znode to that of its transaction.
func gone(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return recipes.ErrNoTransaction
	}
	return err
}

// Learn waits for the transaction and reads it. Its deadline counts from here and needs only this site's clock: it does not matter which of two sites
// reaches it first, because the decision is made once.
func (c *site) Learn(ctx context.Context) ([]byte, error) {
	payload, err := c.learn(ctx)
	if err != nil {
		return nil, fmt.Errorf("learn of %s: %w", c.path, err)
	}
	return payload, nil
}

func (c *site) learn(ctx context.Context) ([]byte, error) {
	if err := c.appears(ctx, c.path); err != nil {
		return nil, err
	}
	data, err := c.read(ctx, c.path)
	if err != nil {
		return nil, gone(err)
	}
	members, deadline, payload, err := parseTransaction(data)
	if err != nil {
		return nil, err
	}
	c.members, c.data, c.deadline = members, data, time.Now().Add(deadline)
	if c.o.Alive {
		if err := c.live(ctx); err != nil {
			return nil, gone(err)
		}
	}
	c.o.Pause(recipes.PauseLearnt)
	return payload, nil
}

// appears waits until a znode exists that is not removed before this site has finished: so the event of a watch on its absence, which can only be its
// creation, needs no further check.
func (c *site) appears(ctx context.Context, path string) error {
	there, w, err := c.existsW(ctx, path)
	if err != nil {
		return err
	}
	if there {
		w.Stop()
		return nil
	}
	c.o.Pause(recipes.PauseArmed)
	err = znode.Await(ctx, w)
	c.o.Pause(recipes.PauseWoken)
	return err
}

func (c *site) existsW(ctx context.Context, path string) (there bool, w *zk.Watch, err error) {
	err = znode.Insist(ctx, func() (err error) { _, there, w, err = c.s.ExistsW(ctx, path); return })
	return there, w, err
}

// live creates the znode by which others see that this site is alive. One left by an earlier session of this site would later signal its death.
func (c *site) live(ctx context.Context) error {
	if c.o.Site == 0 {
		return nil
	}
	var passes znode.Passes
	for {
		doubt := false
		err := c.write(ctx, &doubt, func() error { _, err := c.s.Create(ctx, c.alive(c.o.Site), nil, zk.Ephemeral); return err })
		if !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
		var st zk.Stat
		err = znode.Insist(ctx, func() (err error) { _, st, err = c.s.Get(ctx, c.alive(c.o.Site)); return })
		if err == nil && st.EphemeralOwner == c.s.ID() {
			return nil
		}
		if err == nil {
			err = znode.RemoveOwn(ctx, c.s, zk.Created{Path: c.alive(c.o.Site), Czxid: st.Czxid})
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := passes.Next(ctx, st.Czxid); err != nil {
			return err
		}
	}
}

// cast writes the vote. It expects version 0, which a vote that was cast no longer has.
func (c *site) cast(ctx context.Context, commit bool, version int32) error {
	if c.deadline.IsZero() {
		return recipes.ErrNotLearnt
	}
	doubt := false
	own := c.vote(c.o.Site)
	err := c.write(ctx, &doubt, func() error { _, err := c.s.Set(ctx, own, word(commit), version); return err })
	if errors.Is(err, zk.ErrBadVersion) { // by this call, if its reply was lost, or by an earlier life of this site
		var found []byte
		if found, err = c.read(ctx, own); err == nil && string(found) != string(word(commit)) {
			err = recipes.ErrVoted
		}
	}
	if err != nil {
		return gone(err)
	}
	c.voted = word(commit)
	c.o.Pause(recipes.PauseVoted)
	return nil
}
