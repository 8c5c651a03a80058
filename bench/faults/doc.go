// Package faults injects the planned faults of a cell at their times, recovers from all of them, and records the effects of each.
//
// [Check] reports, before any load, the faults that an environment does not support. A [Schedule] injects the rest: into servers through an
// [ensemble.FaultInjector], into connections through the proxy in front of the servers, into sessions by ending them. [Leadership] tracks the leader, so that
// a loss of the leader that no planned fault explains is listed as a fault too.
package faults
