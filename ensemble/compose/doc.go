// Package compose runs ensembles of ZooKeeper servers in Docker containers, which Compose starts from the files in zkbench's top-level package compose.
//
// The containers are removed when this process ends or, if it was killed, when the next zkbench on this machine starts containers, unless Config.Detach asks
// for a detached ensemble. That one leaves a state file, with which package backend finds it again.
package compose
