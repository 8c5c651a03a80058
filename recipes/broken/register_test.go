package broken_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Sessions that read and write a register under a sound lock lose no update. Under a lock with two holders the model of the register sees it.
func TestALockProtectsARegister(t *testing.T) {
	for _, v := range sound() {
		if got := updates(t, v); got.Answer != check.Holds || got.Evidence != 40 {
			t.Errorf("%s: linearizability %v with %d operations, want it to hold with 40: %s", v.Name, got.Answer, got.Evidence, got.Detail)
		}
	}
	for _, name := range []string{"broken-two-permits"} {
		v, ok := recipes.Find(broken.Variants(broken.Locks), name)
		if !ok {
			t.Fatalf("no lock %s", name)
		}
		if got := updates(t, v); got.Answer != check.Violated {
			t.Errorf("%s: linearizability %v with %d operations, want it violated", v.Name, got.Answer, got.Evidence)
		}
	}
}

// updates lets five sessions update the register eight times each, and returns the model's verdict.
func updates(t *testing.T, v recipes.Variant[recipes.Lock]) (verdict check.Verdict) {
	synctest.Test(t, func(t *testing.T) {
		ens := zktest.New(zktest.Config{OpLatency: 2 * time.Millisecond, EventLatency: time.Millisecond})
		admin := ens.Dial()
		for _, path := range []string{"/register", "/lock"} {
			if _, err := admin.Create(t.Context(), path, []byte("0"), zk.Persistent); err != nil {
				t.Fatal(err)
			}
		}
		history, origin := metrics.NewHistory(1, nil), metrics.NewOrigin(time.Now())
		var all sync.WaitGroup
		for id := range uint32(5) {
			s := ens.Dial()
			lock := v.New(s, "/lock", recipes.Options{})
			r := rand.New(rand.NewPCG(1, uint64(id)))
			all.Go(func() {
				for n := range 8 {
					if _, err := lock.Acquire(t.Context()); err != nil {
						t.Errorf("Acquire() = %v", err)
						return
					}
					w := metrics.Sample{Op: metrics.Update, Session: id, Value: int64(1 + id*100 + uint32(n)), Start: origin.Now()}
					w.Token = update(t.Context(), t, s, w.Value)
					w.End = origin.Now()
					history.Shard(0).Record(w)
					time.Sleep(time.Duration(r.IntN(int(time.Millisecond))))
					if err := lock.Release(t.Context()); err != nil {
						t.Errorf("Release() = %v", err)
					}
				}
			})
		}
		all.Wait()
		verdict = check.LinearizableRegister(time.Minute).Judge(history.All(), nil)
		for _, s := range ens.Sessions() {
			s.Close()
		}
	})
	return verdict
}

// update writes the register and returns its previous value.
func update(ctx context.Context, t *testing.T, s zk.Session, value int64) int64 {
	data, _, err := s.Get(ctx, "/register")
	if err != nil {
		t.Error(err)
	}
	if _, err := s.Set(ctx, "/register", []byte(strconv.FormatInt(value, 10)), zk.AnyVersion); err != nil {
		t.Error(err)
	}
	old, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		t.Error(err)
	}
	return old
}
