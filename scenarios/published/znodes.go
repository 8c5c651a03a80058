package published

import (
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/lock"
	known "github.com/zkbench/zkbench/recipes/published"
)

// Znodes are the names of what the scenarios make: each has a directory of its own, with the object that is contended for, and some put znodes
// beside those of the recipes.
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
			`lock/(content|[02])`, // what is no place in a queue
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
