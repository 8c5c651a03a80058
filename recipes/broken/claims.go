package broken

import (
	"context"
	"errors"
	"strings"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/zk"
)

// claimSteps contains the parts of the queue with claims that can be replaced.
type claimSteps struct {
	*altered
	recipes.Claimer // the real one
	finished        func(c recipes.Claim, err error) error
}

// Finish calls the queue's Finish, and lets the defect replace the result.
func (q *claimSteps) Finish(ctx context.Context, c recipes.Claim) error {
	err := q.Claimer.Finish(ctx, c)
	if q.finished != nil {
		return q.finished(c, err)
	}
	return err
}

func isClaim(path string) bool { return strings.Contains(path, "/taken/") }

func claiming(caught, name, doc string, fault func(*claimSteps)) Defect[recipes.Queue] {
	d := defective[recipes.Queue](caught, name, doc)
	d.Tokens, d.Claims = true, true
	d.New = func(s zk.Session, dir string, o recipes.Options) recipes.Queue {
		q := &claimSteps{altered: over(s)}
		fault(q)
		v, _ := recipes.Find(queue.Variants(), "claim")
		q.Claimer, _ = v.New(q.altered, dir, o).(recipes.Claimer)
		return q
	}
	return d
}

// ClaimQueues are the queues with claims with a defect.
var ClaimQueues = []Defect[recipes.Queue]{
	claiming(claims, "finishes-in-two", "removes the claim and then the item, and not both at once", func(q *claimSteps) {
		q.multi = func(ctx context.Context, ops ...zk.Op) ([]zk.OpResult, error) {
			if len(ops) != 2 || ops[0].Kind != zk.KindDelete {
				return q.Session.Multi(ctx, ops...)
			}
			if err := q.Session.Delete(ctx, ops[1].Path, ops[1].Version); err != nil {
				return nil, err
			}
			return nil, q.Session.Delete(ctx, ops[0].Path, ops[0].Version)
		}
	}),
	claiming(claims, "reads-first", "reads the item before it claims it, and delivers one that was finished in between", readsFirst),
	claiming(claims, "shares-claims", "takes a claim that is there for its own", func(q *claimSteps) {
		q.create = func(ctx context.Context, path string, data []byte, mode zk.Mode) (zk.Created, error) {
			c, err := q.Session.Create(ctx, path, data, mode)
			if isClaim(path) && errors.Is(err, zk.ErrNodeExists) {
				_, st, err := q.Session.Get(ctx, path)
				return zk.Created{Path: path, Czxid: st.Czxid}, err
			}
			return c, err
		}
	}),
	claiming(claims, "blind-claim", "does not tell the consumer that its session is over", func(q *claimSteps) { q.blind() }),
	claiming(liveness, "persistent-claim", "makes claims that outlive their consumers", func(q *claimSteps) { q.outliving() }),
	claiming(conservation, "loses-the-lost", "removes the item of a claim that it has lost, and says that it is lost", func(q *claimSteps) {
		q.finished = func(c recipes.Claim, err error) error {
			if err == nil && c.Token%7 == 0 { // how a consumer treats a reply that it does not wait for
				return recipes.ErrClaimLost
			}
			return err
		}
	}),
}

// readsFirst reads an item right before claiming it, and returns that copy.
func readsFirst(q *claimSteps) {
	var path string
	var data []byte
	var st zk.Stat
	q.create = func(ctx context.Context, claim string, mark []byte, mode zk.Mode) (zk.Created, error) {
		if !isClaim(claim) {
			return q.Session.Create(ctx, claim, mark, mode)
		}
		var err error
		path = strings.Replace(claim, "/taken/", "/entries/", 1)
		if data, st, err = q.Session.Get(ctx, path); err != nil {
			path = ""
			if errors.Is(err, zk.ErrNoNode) {
				err = zk.ErrNodeExists // try the next one
			}
			return zk.Created{}, err
		}
		return q.Session.Create(ctx, claim, mark, mode)
	}
	q.get = func(ctx context.Context, item string) ([]byte, zk.Stat, error) {
		if item == path {
			return data, st, nil
		}
		return q.Session.Get(ctx, item)
	}
}
