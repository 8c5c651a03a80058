// Package versions finds the ZooKeeper servers on this machine by version, and fetches those that Debian's releases package.
package versions
