package fuzz_test

import (
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/barrier"
	"github.com/zkbench/zkbench/recipes/commit"
	"github.com/zkbench/zkbench/recipes/counter"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/membership"
	"github.com/zkbench/zkbench/recipes/queue"
	"github.com/zkbench/zkbench/recipes/semaphore"
	"github.com/zkbench/zkbench/recipes/setting"
)

// games returns a game for each recipe of the catalogues without known defects.
func games() []game {
	return slices.Concat(
		each(lock.Variants(), lockGame), []game{ownersGame()}, each(lock.RWVariants(), sharedGame), each(semaphore.Variants(), semaphoreGame),
		each(lock.MultiVariants(), multiGame), each(election.Variants(), electionGame), each(membership.Variants(), groupGame),
		each(queue.Variants(), queueGame), each(queue.PriorityVariants(), queueGame), each(queue.DelayVariants(), queueGame),
		each(counter.Variants(), counterGame), each(counter.IDVariants(), idGame), each(setting.Variants(), configGame),
		each(commit.Variants(), commitGame), each(barrier.Variants(), barrierGame),
		each(barrier.DoubleVariants(), doubleBarrierGame), each(barrier.RendezvousVariants(), rendezvousGame),
	)
}

func each[T any](catalogue []recipes.Variant[T], make func(recipes.Variant[T]) game) (all []game) {
	for _, v := range catalogue {
		if !v.Unsafe {
			all = append(all, make(v))
		}
	}
	return all
}
