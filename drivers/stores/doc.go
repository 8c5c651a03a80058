// Package stores starts servers of other stores than ZooKeeper, Redis and etcd, for drivers whose locks are there.
package stores
