// Package secured plays failures around identities, each in the situation that shows it.
//
// A scenario has two clients and one lock. Both authenticate with a digest credential, in addition to how the sessions of the run do, and
// the znodes that they create are for that identity alone:
//
//   - creator-only: the clients are two identities. One holds, the other waits, the holder releases.
//   - reconnect: both are the same identity. The holder's connection is cut, the holder comes back and releases.
//   - ping-first: the same, on servers that refuse everything before the credentials.
//
// The trial judges by the state alone:
//
//   - liveness is violated when the holder has let go and the waiter is refused, or waits though neither a request nor an event of its has come
//     for a second, after which its connection and the servers have answered a sync;
//   - session is violated when a client that only lost its connection is refused on three new ones, or told that its session is over well before
//     the session timeout.
//
// Faulty clients are the engine of the run with its requests altered on their way: see Line. What the servers do is asked first, not
// concluded from their version: see Rules.
package secured
