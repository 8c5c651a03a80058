// Package wire is zkbench's own client of ZooKeeper: the native engine. It speaks the wire protocol itself.
package wire
