package published

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/zk"
)

// office adapts an election to what the scripts drive: Acquire campaigns, Release resigns.
type office struct{ recipes.Election }

// Acquire campaigns.
func (o office) Acquire(ctx context.Context) (recipes.Grant, error) {
	term, err := o.Campaign(ctx)
	return recipes.Grant{Path: term.Path, Token: term.Token, Lost: term.Lost}, err
}

// Release resigns.
func (o office) Release(ctx context.Context) error { return o.Resign(ctx) }

// directory creates the znode that LeaderElectionSupport requires, for elections only: some published locks have flaws in creating
// theirs.
func (t *trial) directory() {
	if t.subject.control != ElectionControl {
		return
	}
	if _, err := t.admin.Create(t.Context(), t.dir+"/lock", nil, zk.Persistent); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		t.Fail(err)
	}
}

func noDirectory(t *trial) {
	if err := t.admin.Delete(t.Context(), t.dir+"/lock", zk.AnyVersion); err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fail(err)
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

// change writes to a znode as a third party.
func (t *trial) change(path string) {
	if !t.Over() {
		_, err := t.admin.Set(t.Context(), path, []byte("changed"), zk.AnyVersion)
		t.Fail(err)
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

// informed checks that a holder whose session is over has been notified that it no longer holds.
func (t *trial) informed(h *handle) {
	if t.Over() {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), scenarios.StepTimeout)
	defer cancel()
	select {
	case <-h.session.Done():
	case <-h.refused:
	case <-ctx.Done():
		t.Fail(scenarios.NotStaged("the client has not heard of its expiry"))
		return
	}
	t.settle(nil)
	select {
	case <-h.asked.grant.Lost:
	default:
		t.Found(Exclusion, "nobody tells %s, whose session is over, that it holds no more; %s", h.name, t.state())
	}
}
