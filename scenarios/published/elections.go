package published

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// office is an election as what the scripts drive: to campaign is to acquire, to resign is to release.
type office struct{ recipes.Election }

// Acquire campaigns.
func (o office) Acquire(ctx context.Context) (recipes.Grant, error) {
	term, err := o.Campaign(ctx)
	return recipes.Grant{Path: term.Path, Token: term.Token, Lost: term.Lost}, err
}

// Release resigns.
func (o office) Release(ctx context.Context) error { return o.Resign(ctx) }

// directory makes the znode that LeaderElectionSupport wants to be there, for elections alone: some published locks have faults in making
// theirs.
func (t *trial) directory() {
	if t.subject.control != ElectionControl {
		return
	}
	if _, err := t.admin.Create(t.ctx, t.dir+"/lock", nil, zk.Persistent); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		t.fail(err)
	}
}

func noDirectory(t *trial) {
	if err := t.admin.Delete(t.ctx, t.dir+"/lock", zk.AnyVersion); err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.fail(err)
	}
	first := t.client("first")
	first.ask()
	t.look()
}

func predecessorData(t *trial) {
	holder, waiter := t.client("holder"), t.client("waiter")
	holder.ask()
	waiter.ask()
	t.change(holder.znode())
	t.look()
	holder.release()
	t.look()
}

// change writes to a znode as a third party does.
func (t *trial) change(path string) {
	if !t.over() {
		_, err := t.admin.Set(t.ctx, path, []byte("changed"), zk.AnyVersion)
		t.fail(err)
	}
}

func holderExpires(t *trial) {
	holder, next := t.client("holder"), t.client("next")
	holder.ask()
	next.ask()
	holder.expire()
	t.look()
	t.informed(holder)
}

// informed makes sure that a holder whose session is over has been told that it holds no more.
func (t *trial) informed(h *handle) {
	if t.over() {
		return
	}
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	select {
	case <-h.session.Done():
	case <-ctx.Done():
		t.fail(fmt.Errorf("%w: the client has not heard of its expiry", errNotStaged))
		return
	}
	t.settle(nil)
	select {
	case <-h.asked.grant.Lost:
	default:
		t.found(Exclusion, "nobody tells %s, whose session is over, that it holds no more; %s", h.name, t.state())
	}
}
