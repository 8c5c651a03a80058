package published

import (
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/lock"
	known "github.com/zkbench/zkbench/recipes/published"
)

// Znodes returns the names of the znodes that the scenarios create: each has its own directory, with the contended object, and some create znodes
// next to those of the recipes.
func Znodes() recipes.Znodes {
	all := recipes.Znodes{
		Persistent: []string{
			`trial-[0-9-]+/(barrier|lock|Lock[AB]|transaction)`,
			`lock/(leases|locks|max)`,
			`barrier/SEQ`,
			`transaction/(decision|ack_.*|s_#)`,
		},
		Ephemeral: []string{
			`(lock|Lock[AB]|locks|leases)/PROTECTED`,
			`lock/(content|[02])`, // what is not a place in a queue
			`trial-[0-9-]+/Lock[AB]SEQ`,
			`(SEQ|barrier)/(GUID|ready|start)`,
			`transaction/(alive_.*|s_#)`,
		},
	}
	return all.And(znodesOf(lock.Variants()), znodesOf(known.Locks()), znodesOf(election.Variants()), znodesOf(known.Elections()))
}

func znodesOf[T any](variants []recipes.Variant[T]) (all recipes.Znodes) {
	for _, v := range variants {
		all = all.And(v.Znodes.Of("lock"))
	}
	return all
}
