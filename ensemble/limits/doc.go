// Package limits reports how close an ensemble is to ZooKeeper's hard limits, from what its servers report and from reads. It writes nothing.
package limits
