// Package limits tells how close an ensemble is to ZooKeeper's hard limits, from what its servers say of themselves and from reads. It makes no
// znode and changes none.
package limits
