// Package stores starts Redis and etcd servers, for drivers whose locks are there.
package stores
