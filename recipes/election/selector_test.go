package election

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// After a cancelled resignation, a campaign starts when the previous term has ended, and not at all if its context ends first.
func TestACampaignDuringAResignation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{})
		s := ens.Dial()
		defer s.Close()
		var started atomic.Int32
		e := newSelected(s, "/e", recipes.Options{Trace: &recipes.Trace{Stage: func(stage string) {
			if stage == recipes.StageStart {
				started.Add(1)
			}
		}}})
		first, err := e.Campaign(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		deleted := make(chan struct{})
		ens.Hook(func(op zktest.Op) zktest.Action {
			if op.Kind == zk.KindDelete && !op.Applied {
				<-deleted
			}
			return zktest.Action{}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := e.Resign(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Resign() = %v, want the end of its context", err)
		}
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if term, err := e.Campaign(ctx); !errors.Is(err, context.DeadlineExceeded) || term.Path != "" || started.Load() != 1 {
				t.Errorf("Campaign() = %+v, %v, %d candidacies; want the end of its context, and one", term, err, started.Load())
			}
		}
		close(deleted)
		second, err := e.Campaign(t.Context())
		if err != nil || second.Token <= first.Token || started.Load() != 2 {
			t.Errorf("Campaign() = %+v, %v, %d candidacies; want a term after %d, and two", second, err, started.Load(), first.Token)
		}
		if err := e.Resign(t.Context()); err != nil || len(ens.Ephemerals()) != 0 {
			t.Errorf("Resign() = %v, candidates left: %v", err, ens.Ephemerals())
		}
	})
}
