// Package ensemble describes an ensemble of ZooKeeper servers to those who use it: its addresses, its figures, what would spoil a run on it,
// and which faults can be injected into it.
//
// [Connect] takes servers that somebody else runs; packages local and compose start some, as processes and in containers, and package
// drivers chooses between them. Every question is answered when it is put: Stats and Preflight keep nothing from an earlier call, so what
// they say is true of now, and a server that does not answer is an error and never a zero.
//
// The package speaks to servers through four-letter words, the AdminServer and a few frames of ZooKeeper's protocol of its
// own (probe.go), because it must say what is wrong with an ensemble before any session can be opened.
package ensemble
