// Package local runs ensembles of ZooKeeper servers as processes of this machine, on the loopback address.
//
// The servers end with this process, even if it is killed with SIGKILL, unless Config.Detach asks for an ensemble that stays. That one leaves a state
// file, from which package drivers finds it again.
package local
