// Package compose is ensembles of ZooKeeper servers in containers of Docker's, which Compose starts from the files of zkbench's package of the
// same name.
//
// Containers go with this process, or with the next one of this machine where it was killed, unless Config.Detach asks for an ensemble that
// stays; that one leaves a state file, from which package drivers finds it again.
package compose
