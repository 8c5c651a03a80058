// Package compose runs ensembles of ZooKeeper servers in Docker containers, which Compose starts from the files in zkbench's top-level package compose.
//
// The containers are removed when this process ends or, if it was killed, when the next zkbench on this machine starts some, unless Config.Detach asks
// for an ensemble that stays. That one leaves a state file, from which package drivers finds it again.
package compose
