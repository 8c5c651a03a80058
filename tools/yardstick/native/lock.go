package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/zk/wire"

	"github.com/zkbench/zkbench/recipes"
	zklock "github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/tools/yardstick"
	"github.com/zkbench/zkbench/zk"
)

// predecessor returns the lock that the figures are about.
func predecessor() (recipes.Variant[recipes.Lock], error) {
	i := slices.IndexFunc(zklock.Variants(), func(v recipes.Variant[recipes.Lock]) bool { return v.Name == "predecessor" })
	if i < 0 {
		return recipes.Variant[recipes.Lock]{}, errors.New("the catalogue has no predecessor lock")
	}
	return zklock.Variants()[i], nil
}

// handoffs measures the median time from a release being issued to the waiter's grant. Two sessions take turns: one holds,
// the other waits and has its watch armed before the release, so that nothing else runs on the ensemble meanwhile.
func handoffs(ctx context.Context, sessions []*wire.Client, n int, out *yardstick.Result) error {
	v, err := predecessor()
	if err != nil {
		return err
	}
	const path = "/yardstick/handoff-lock"
	if err := ensure(ctx, sessions[0], path, nil); err != nil {
		return err
	}
	armed := make(chan struct{}, 1)
	var locks [2]recipes.Lock
	for i := range locks {
		s := zk.Observe(sessions[i], &zk.Trace{Call: func(c *zk.Call) {
			if c.Watch && c.Err == nil {
				armed <- struct{}{}
			}
		}})
		locks[i] = v.New(s, path, recipes.Options{})
	}
	if _, err := locks[0].Acquire(ctx); err != nil {
		return err
	}
	var took []time.Duration
	for i := range n {
		holder, waiter := locks[i%2], locks[(i+1)%2]
		granted := make(chan error, 1)
		var at time.Time
		go func() {
			_, err := waiter.Acquire(ctx)
			at = time.Now()
			granted <- err
		}()
		select {
		case <-armed:
		case err := <-granted:
			return fmt.Errorf("granted while the lock was held: %v", err)
		}
		start := time.Now()
		if err := holder.Release(ctx); err != nil {
			return err
		}
		if err := <-granted; err != nil {
			return err
		}
		took = append(took, at.Sub(start))
	}
	slices.Sort(took)
	out.HandoffUs = float64(took[len(took)/2].Nanoseconds()) / 1e3
	return locks[n%2].Release(ctx)
}
