package queue

import (
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Variants is the catalogue of queues that take items in the order of their arrival.
func Variants() []recipes.Variant[recipes.Queue] {
	return []recipes.Variant[recipes.Queue]{
		{
			Name: "fifo", Source: "ZooKeeper's recipe page, 'Queues', as zookeeper-recipes-queue and Curator's SimpleDistributedQueue carry it out",
			Doc:  "items are sequential znodes; deleting the first one takes it: at most once, consumers collide on the head",
			FIFO: true, Lists: []string{recipes.ListFresh, recipes.ListCached}, Window: true,
			New: newFIFO,
		},
		{
			Name: "claim", Source: "the LockingQueue of kazoo; the lockPath of Apache Curator's DistributedQueue",
			Doc:    "an item is claimed with an ephemeral znode and deleted when it is finished: at least once, and again when its consumer dies",
			Tokens: true, Claims: true,
			New: func(s zk.Session, path string, o recipes.Options) recipes.Queue { return newClaims(s, path, o) },
		},
	}
}

// PriorityVariants is the catalogue of queues that take the item of the best priority.
func PriorityVariants() []recipes.Variant[recipes.Queue] {
	return []recipes.Variant[recipes.Queue]{
		{
			Name: "priority", Source: "ZooKeeper's recipe page, 'Priority Queues', with the names of Apache Curator's DistributedPriorityQueue",
			Doc:   "the priority stands in the name in fixed width, before the number; needs a list that is up to date for each item",
			Lists: []string{recipes.ListFresh, recipes.ListWatched, recipes.ListSynced},
			New:   newPriority,
		},
	}
}

// DelayVariants is the catalogue of queues whose items become available at a given time.
func DelayVariants() []recipes.Variant[recipes.Queue] {
	return []recipes.Variant[recipes.Queue]{
		{
			Name: "delay", Source: "Apache Curator's DistributedDelayQueue, its names; of ZooKeeper's recipe page 'Priority Queues', with time as the priority",
			Doc:   "from when an item may be taken stands in its name; a consumer waits for the earliest, and for one that is earlier still",
			Lists: []string{recipes.ListFresh, recipes.ListWatched, recipes.ListSynced},
			New:   func(s zk.Session, path string, o recipes.Options) recipes.Queue { return newDelay(s, path, o) },
		},
	}
}
