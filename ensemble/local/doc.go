// Package local is ensembles of ZooKeeper servers that are processes of this machine, on the loopback address.
//
// The servers die with this process, by kill -9 too, unless Config.Detach asks for an ensemble that stays; that one leaves a state file, from
// which package drivers finds it again.
package local
