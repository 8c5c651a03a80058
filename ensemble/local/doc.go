// Package local runs ensembles of ZooKeeper servers as processes on this machine, on the loopback address.
//
// The servers end with this process, even if it is killed with SIGKILL, unless Config.Detach asks for a detached ensemble. That one leaves a state
// file, with which package backend finds it again.
package local
