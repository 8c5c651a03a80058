// Package jute is the encoding of ZooKeeper's client protocol: the numbers of requests, the records of zookeeper.jute and the frames that
// carry them. It is the only one: the client, the proxy, the probes and the yardstick all use it. It knows nothing about sessions, watches or errors: the
// meaning of a frame is left to the caller.
package jute
