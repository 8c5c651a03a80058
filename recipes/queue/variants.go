package queue

import (
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Variants returns the catalogue of queues that take items in the order of their arrival.
func Variants() []recipes.Variant[recipes.Queue] {
	return []recipes.Variant[recipes.Queue]{
		{
			Name: "fifo", Source: "ZooKeeper's recipe page, 'Queues', as implemented by zookeeper-recipes-queue and Curator's SimpleDistributedQueue",
			Doc:  "items are sequential znodes; deleting the first one takes it: at most once, consumers collide on the head",
			FIFO: true, Lists: []string{recipes.ListFresh, recipes.ListCached}, Window: true,
			New: newFIFO,
		},
		{
			Name: "claim", Source: "the LockingQueue of kazoo; the lockPath of Apache Curator's DistributedQueue",
			Doc:    "an item is claimed with an ephemeral znode and deleted when it is finished: at least once, and again if its consumer dies",
			Tokens: true, Claims: true,
			New: func(s zk.Session, path string, o recipes.Options) recipes.Queue { return newClaims(s, path, o) },
		},
	}
}

// PriorityVariants returns the catalogue of queues that take the item of the best priority.
func PriorityVariants() []recipes.Variant[recipes.Queue] {
	return []recipes.Variant[recipes.Queue]{
		{
			Name: "priority", Source: "ZooKeeper's recipe page, 'Priority Queues', with the names of Apache Curator's DistributedPriorityQueue",
			Doc:   "the name contains the priority in fixed width, before the number; each take needs an up-to-date list",
			Lists: []string{recipes.ListFresh, recipes.ListWatched, recipes.ListSynced},
			New:   newPriority,
		},
	}
}

// DelayVariants returns the catalogue of queues whose items become available at a given time.
func DelayVariants() []recipes.Variant[recipes.Queue] {
	return []recipes.Variant[recipes.Queue]{
		{
			Name: "delay", Source: "ZooKeeper's recipe page, 'Priority Queues', with time as the priority and the names of Apache Curator's DistributedDelayQueue",
			Doc:   "the name contains the time from which an item may be taken; a consumer waits for the earliest one, or for an earlier arrival",
			Lists: []string{recipes.ListFresh, recipes.ListWatched, recipes.ListSynced},
			New:   func(s zk.Session, path string, o recipes.Options) recipes.Queue { return newDelay(s, path, o) },
		},
	}
}
