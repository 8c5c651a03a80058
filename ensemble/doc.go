// Package ensemble describes an ensemble of ZooKeeper servers to its users: its addresses, its figures, what would spoil a run on it, and which faults
// can be injected into it.
//
// [Connect] takes servers that somebody else runs; packages local and compose start some, as processes and in containers, and package
// drivers chooses between them. Every question is answered when it is asked: Stats and Preflight keep nothing from an earlier call, and a server that
// does not answer is an error, never a zero.
//
// The package speaks to servers through four-letter words, the AdminServer and a few frames of ZooKeeper's protocol of its
// own (probe.go), because it must report what is wrong with an ensemble before any session can be opened.
package ensemble
