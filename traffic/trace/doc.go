// Package trace is the format in which requests of ZooKeeper's clients are kept and passed on: who sent what, when, and what the servers said. A trace
// is made from the files of a server or by a proxy, and it is what 'zkbench replay' sends again.
//
// It holds no data, only sizes, no credentials, and names only as its maker left them. It is written and read as a stream, in memory that does not grow with it. Its
// format is described in docs/traffic.md; a trace is not trusted by its reader: a length, a count or a number is checked before anything is allocated for it, and one
// that is not complete is told from one that is.
package trace
