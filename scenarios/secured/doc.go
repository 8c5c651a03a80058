// Package secured demonstrates failures related to identities, each in the situation that shows it.
//
// A scenario has two clients and one lock. Both authenticate with a digest credential, in addition to the credentials of the run's sessions, and
// only that identity may use the znodes that they create:
//
//   - creator-only: the clients are two identities. One holds, the other waits, the holder releases.
//   - reconnect: both are the same identity. The holder's connection is cut, the holder comes back and releases.
//   - ping-first: the same, on servers that refuse everything before the credentials.
//
// The trial judges by the state alone:
//
//   - liveness is violated when the holder has released and the waiter is refused, or still waits although none of its requests and events has come
//     for a second, after which its connection and the servers have answered a sync;
//   - session is violated when a client that only lost its connection is refused on three new ones, or is told that its session is over well before
//     the session timeout.
//
// Faulty clients use the engine of the run, with requests altered on their way: see Line. What the servers require is found out by asking them, not
// concluded from their version: see Rules.
package secured
