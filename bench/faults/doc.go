// Package faults breaks things on purpose: it injects the planned faults of a cell at their times, has everything recover from them, and
// keeps what became of each.
//
// [Check] says before any load which faults an environment cannot carry out. A [Schedule] injects the rest: into servers through an
// [ensemble.FaultInjector], into connections through the proxy in front of the servers, into sessions by ending them. [Leadership] follows
// who leads, so that the loss of a leader that no planned fault explains is told as a fault too.
package faults
