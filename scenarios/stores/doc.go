// Package stores plays the defects of locks on Redis and etcd, each in the situation that shows it.
//
// A scenario is a script of a few clients, each a driver in a process of its own, on servers that are started for it. It is the same for every lock, so
// that it also tests those that must pass. Nothing is left to luck: a command or a reply is delayed on its way, a process is
// stopped or killed, a server or its replication is cut off, and the next step begins when that has happened. Where time has to pass it is
// the time of a lock, and what follows begins with the grant to the next client.
//
//   - exclusion is violated when a client is granted the lock while another one holds it that has not been told of a loss;
//   - liveness is violated when the holder is gone and the server will keep its key forever;
//   - stale-write is violated when what the lock guards accepts a write of a client after one of the next holder.
package stores
