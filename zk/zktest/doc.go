// Package zktest is an in-memory ensemble for tests (what httptest is to http).
//
// [New] makes an [Ensemble], and [Ensemble.Dial] a [Session] on it, which implements zk.Session and zk.PersistentWatcher with
// the semantics of a ZooKeeper server: zxids that failing writes consume too, sequence numbers from the parent's create
// counter, one-shot watches that live with their connection and are armed again after a reconnect as setWatches does,
// sessions that expire on the server while they are partitioned from it.
//
// It has no goroutine of its own, and waits only on channels and timers that it makes itself, so that in a testing/synctest bubble every
// duration is exact and takes no time. Without latency and without a hook an operation is carried out in the caller's goroutine.
//
// Races are staged with a [Hook]: a function that runs right before and right after the server applies an operation, where it
// may let other sessions act, block, fail the operation or lose its request or its reply. [Ensemble.Disconnect],
// [Ensemble.Delay] and [Ensemble.Silence] stage faults of connections, the latter two in each direction, [Ensemble.Freeze] a
// process that is stopped, [Ensemble.Lag] stale reads, [Ensemble.SetSequence] the wrap of the counter.
//
// [Conformance] is the suite that says what an engine of zk.Session must do; it runs on this ensemble and on real servers.
//
// What it does not model: ACLs, quotas, TTL znodes, authentication, the election of a leader.
package zktest
