// Package ensemble describes an ensemble of ZooKeeper servers to its users: its addresses, its figures, what would spoil a run on it, and which faults
// can be injected into it.
//
// [Connect] uses servers that somebody else runs; packages local and compose start servers, as processes and in containers, and package
// backend chooses between them. Every question is answered when it is asked: Stats and Preflight keep nothing from an earlier call, and a server that
// does not answer is an error, never a zero.
//
// The package talks to servers through four-letter words, the AdminServer and its own implementation of a few frames of ZooKeeper's protocol
// (probe.go), because it must report what is wrong with an ensemble before any session can be opened.
package ensemble
