// Package jute is the encoding of ZooKeeper's client protocol: the numbers of requests, the records of zookeeper.jute and the frames that
// carry them. It is the only one: the client, the proxy, the probes and the yardstick all write and read with it. It refuses to know
// sessions, watches or errors: what a frame means is its caller's.
package jute
