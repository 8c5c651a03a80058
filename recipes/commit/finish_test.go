package commit_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

func TestLostRepliesOfACommit(t *testing.T) {
	last := func(op zktest.Op) zk.Op { return op.Ops[len(op.Ops)-1] }
	for _, tt := range []struct {
		what string
		at   func(op zktest.Op) bool
	}{
		{"the proposal", func(op zktest.Op) bool { return op.Kind == zk.KindMulti && op.Ops[0].Path == tx }},
		{"the first vote", func(op zktest.Op) bool { return op.Kind == zk.KindSet && op.Path == tx+"/s_1" }},
		{"the last vote", func(op zktest.Op) bool { return op.Kind == zk.KindSet && op.Path == tx+"/s_2" }},
		{"the decision", func(op zktest.Op) bool {
			return op.Path == tx+"/decision" && op.Kind == zk.KindCreate || op.Kind == zk.KindMulti && last(op).Path == tx+"/decision"
		}},
		{"the first acknowledgement", func(op zktest.Op) bool { return op.Kind == zk.KindMulti && op.Ops[0].Path == tx+"/ack_1" }},
		{"the last acknowledgement", func(op zktest.Op) bool { return op.Kind == zk.KindMulti && op.Ops[0].Path == tx+"/ack_2" }},
		{"the removal", func(op zktest.Op) bool { return op.Kind == zk.KindMulti && last(op).Kind == zk.KindDelete }},
	} {
		for _, applied := range []bool{true, false} {
			eachCommit(t, 2, func(t *testing.T, b ballot) {
				var lost atomic.Bool
				b.ens.Hook(func(op zktest.Op) zktest.Action {
					return zktest.Action{Lose: op.Applied == applied && op.Err == nil && tt.at(op) && lost.CompareAndSwap(false, true)}
				})
				sites := b.all(t)
				sites[0].votes(t, true)
				sites[1].votes(t, true)
				d0, d1 := sites[0].decides(t), sites[1].decides(t)
				<-d0.Done
				<-d1.Done
				d0.is(t, "the first, after the loss of "+tt.what, "commits")
				d1.is(t, "the second, after the loss of "+tt.what, "commits")
				finish(t, b, sites...)
				if !lost.Load() {
					t.Errorf("nothing was lost of %s", tt.what)
				}
			})
		}
	}
}

// The session of the last site expires with the reply to its acknowledgement. When the site comes back, it finishes.
func TestASiteThatComesBackFinishes(t *testing.T) {
	eachCommit(t, 2, func(t *testing.T, b ballot) {
		sites := b.all(t)
		for _, p := range sites {
			p.votes(t, true)
		}
		for _, p := range sites {
			p.decides(t).is(t, "all voted", "commits")
		}
		bubble.OK(t, "Finish()", sites[0].Finish(t.Context()))
		b.ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindMulti && op.Applied {
				b.ens.Expire(op.Session)
				return zktest.Action{Lose: true}
			}
			return zktest.Action{}
		})
		if err := sites[1].Finish(t.Context()); !errors.Is(err, zk.ErrSessionExpired) {
			t.Errorf("Finish() = %v, want ErrSessionExpired", err)
		}
		b.ens.Hook(nil)
		finish(t, b, b.site(2, recipes.Options{}))
	})
}

// A foreign write to the transaction's znode counts like an acknowledgement, but must not remove the transaction early.
func TestAForeignWriteRemovesNoTransaction(t *testing.T) {
	eachCommit(t, 2, func(t *testing.T, b ballot) {
		sites := b.all(t)
		for _, p := range sites {
			p.votes(t, true)
		}
		bubble.OK(t, "Set()", bubble.Second(b.ens.Dial().Set(t.Context(), tx, []byte("changed"), zk.AnyVersion)))
		sites[0].decides(t).is(t, "all voted", "commits")
		bubble.OK(t, "Finish()", sites[0].Finish(t.Context()))
		sites[1].decides(t).is(t, "all voted", "commits")
		finish(t, b, sites[1])
	})
}
