// Package trace is the format in which requests of ZooKeeper's clients are kept and passed on: who sent what, when, and what the servers said. A trace
// is made from the files of a server or by a proxy, and it is what 'zkbench replay' sends again.
//
// It holds no data, only sizes, no credentials, and names only as its maker left them.
package trace
