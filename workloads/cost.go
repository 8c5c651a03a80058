package workloads

import (
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Cost is the cost of something, by what is counted.
type Cost map[Spent]float64

// Spent is a kind of cost.
type Spent string

// The kinds of cost: everything that goes over the wire. A Multi counts as one write; a getChildren call counts as a read too.
const (
	Writes  Spent = "writes"
	Reads   Spent = "reads"
	Lists   Spent = "lists"
	Names   Spent = "names" // children listed
	Bytes   Spent = "bytes" // of names listed (4 bytes plus the length of each) and of data read
	Events  Spent = "events"
	Watches Spent = "watches" // requests about watches only: to keep one armed, to remove watches, to re-arm all of them
	Upkeep  Spent = "session" // requests that maintain the session: pings, handshakes, credentials, close
)

// Spents lists all kinds of cost in the order of reports.
var Spents = []Spent{Writes, Reads, Lists, Names, Bytes, Events, Watches, Upkeep}

// CostOf returns the total of the counts.
func CostOf(n metrics.FanoutCounts) Cost {
	c := Cost{Lists: float64(n.Lists), Names: float64(n.Names), Bytes: float64(n.Bytes + n.ReadBytes), Events: float64(n.AllEvents())}
	for k := range zk.Kind(zk.Kinds) {
		c[spentOn(k)] += float64(n.Requests[k])
	}
	return c
}

// spentOn returns the kind of cost that a request counts as. A request of a kind that no recipe uses counts as a read.
func spentOn(k zk.Kind) Spent {
	switch k {
	case zk.KindAddWatch, zk.KindRemoveWatches, zk.KindSetWatches:
		return Watches
	case zk.KindPing, zk.KindConnect, zk.KindAuth, zk.KindClose:
		return Upkeep
	}
	if k.Writes() {
		return Writes
	}
	return Reads
}

// queued returns the minimum cost of a place in a queue: one getChildren call, unless a persistent watch reports every change.
func queued[T any](v recipes.Variant[T]) Cost {
	if !v.FIFO || v.Persistent {
		return Cost{}
	}
	return Cost{Lists: 1, Reads: 1}
}
