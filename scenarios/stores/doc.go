// Package stores demonstrates the defects of locks on Redis and etcd, each in the situation that shows it.
//
// A scenario is a script with a few clients, each a driver in its own process, on servers that are started for it. The script is the same for every lock, so
// that it also tests locks that must pass. Nothing is left to chance: a command or a reply is delayed on its way, a process is
// stopped or killed, a server or its replication is cut off, and the next step starts when that has happened. The only times that must pass are
// those of a lock, and what follows starts with the grant to the next client.
//
//   - exclusion is violated when a client is granted the lock while another one holds it that has not been notified of a loss;
//   - liveness is violated when the holder is gone and the server will keep its key forever;
//   - stale-write is violated when the resource that the lock guards accepts a write of a client after a write of the next holder.
package stores
