package election

import (
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Variants returns the catalogue of leader elections.
func Variants() []recipes.Variant[recipes.Election] {
	return []recipes.Variant[recipes.Election]{
		{
			Name: "predecessor", Source: "ZooKeeper's recipe page, 'Leader Election'; the names and the rules of Apache Curator's LeaderLatch",
			Doc:  "candidates are ephemeral sequential znodes, each watching the one before it: a leader that leaves wakes one",
			FIFO: true, Tokens: true, Wakes: recipes.WakesOne, Requests: termRequests(recipes.WakesOne), Watch: []string{"get", "exists"},
			New: func(s zk.Session, path string, o recipes.Options) recipes.Election {
				return newPredecessorElection(s, path, o)
			},
		},
		{
			Name: "naive", Source: "ZooKeeper's recipe page, 'Leader Election', the solution that it calls trivial",
			Doc:  "all candidates watch the leader's znode: when it disappears, each lists all of them, and one leads",
			FIFO: true, Tokens: true, Wakes: wakesAll, Requests: termRequests(wakesAll), Watch: []string{"get", "exists"},
			New: func(s zk.Session, path string, o recipes.Options) recipes.Election {
				return newNaiveElection(s, path, o)
			},
		},
		{
			Name: "selector", Source: "Apache Curator's LeaderSelector, over the candidates of predecessor",
			Doc:  "runs a function while it leads, stops it when the connection is lost, resigns in any case, and queues again",
			FIFO: true, Tokens: true, Wakes: recipes.WakesOne, Requests: termRequests(recipes.WakesOne), Watch: []string{"get", "exists"},
			New: func(s zk.Session, path string, o recipes.Options) recipes.Election { return newSelected(s, path, o) },
		},
	}
}

func wakesAll(n int) (release, arrival float64) { return float64(n - 1), 0 }

// termRequests returns the number of requests of one term: the create, a list when the candidate arrives and one for each event that wakes it, the watches
// that it arms, each of which takes one event, and the read that verifies that its znode is its own.
func termRequests(wakes func(n int) (release, arrival float64)) func(n int) recipes.Requests {
	return func(n int) recipes.Requests {
		woken, _ := wakes(n)
		lists := 1 + woken
		return recipes.Requests{Writes: 1, Lists: lists, Reads: lists + woken + 1}
	}
}
