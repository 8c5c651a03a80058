// Package ensemble is ZooKeeper servers: start, look inside, break, heal.
//
// [Start] runs real servers as child processes, [Connect] takes servers that somebody else runs; both are an [Ensemble].
// Every question is asked anew when it is put: Stats and Preflight keep nothing from an earlier call, so what they say is
// true of now, and a server that does not answer is an error and never a zero.
//
// The servers of a [Local] die with this process, by kill -9 too, unless LocalConfig.Detach asks for an ensemble that
// stays; that one leaves a state file, is found again by [Load] and ended by Down. [Breaker] is what a run uses to break and
// heal servers; only a local ensemble can be broken.
//
// The package speaks to servers through four-letter words, the AdminServer and a few frames of ZooKeeper's protocol of its
// own (probe.go), because it must say what is wrong with an ensemble before any session can be opened.
package ensemble
