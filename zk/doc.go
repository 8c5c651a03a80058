// Package zk defines the session: what coordination recipes need from ZooKeeper, with contexts and zxids.
//
// [Session] is the interface that recipes, workloads and tests are written against. Its engines are package wire, zkbench's own implementation of the
// protocol; package gozk, over github.com/go-zookeeper/zk; and package zktest, an ensemble in memory. One conformance suite (zktest.Conformance)
// specifies what an engine must do, and all of them pass it.
//
// Three rules make it possible to prove a recipe correct:
//
//   - Silence never means success. A [Watch] yields exactly one [Event]: the change, or the loss of the watch as Event.Err.
//   - A reply that was lost with its connection is [ErrMaybeApplied], never success and never failure: the recipe must
//     find out. [Classify] sorts every error into the classes that decide what a recipe may do next.
//   - A session that has expired stays expired: Done is closed, every later call fails with [ErrSessionExpired], and no
//     engine opens a new session behind the same value. A recipe therefore never mistakes a reply to a second session for
//     one to the first.
//
// The channel of a watch is wrapped in [Watch], because a wait that is cancelled must be able to take its watch off the server (Watch.Stop), and
// because [Observe] counts events where they arrive.
package zk
