package workloads

import (
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// Cost is what something costs, by what is counted.
type Cost map[Spent]float64

// Spent is one thing that is counted.
type Spent string

// What is counted: everything that goes over the wire. A Multi is one write; a list is a read too.
const (
	Writes  Spent = "writes"
	Reads   Spent = "reads"
	Lists   Spent = "lists"
	Names   Spent = "names" // listed
	Bytes   Spent = "bytes" // of names listed, 4 and their length each, and of data read
	Events  Spent = "events"
	Watches Spent = "watches" // requests that are about watches alone: to keep one armed, to remove them, to arm all again
	Upkeep  Spent = "session" // requests that keep the session: pings, handshakes, credentials, the end
)

// Spents is all of them, in the order of reports.
var Spents = []Spent{Writes, Reads, Lists, Names, Bytes, Events, Watches, Upkeep}

// CostOf is what was counted, altogether.
func CostOf(n metrics.FanoutCounts) Cost {
	c := Cost{Lists: float64(n.Lists), Names: float64(n.Names), Bytes: float64(n.Bytes + n.ReadBytes), Events: float64(n.AllEvents())}
	for k := range zk.Kind(zk.Kinds) {
		c[spentOn(k)] += float64(n.Requests[k])
	}
	return c
}

// spentOn is what a request of a kind counts as. That of no kind that recipes know counts as a read.
func spentOn(k zk.Kind) Spent {
	switch k {
	case zk.KindAddWatch, zk.KindRemoveWatches, zk.KindSetWatches:
		return Watches
	case zk.KindPing, zk.KindConnect, zk.KindAuth, zk.KindClose:
		return Upkeep
	}
	if write(k) {
		return Writes
	}
	return Reads
}

// queued is the least that a place in a queue costs: a list, unless a persistent watch reports every change.
func queued[T any](v recipes.Variant[T]) Cost {
	if !v.FIFO || v.Persistent {
		return Cost{}
	}
	return Cost{Lists: 1, Reads: 1}
}
