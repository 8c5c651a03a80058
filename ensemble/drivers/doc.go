// Package drivers chooses where an ensemble comes from: local processes, containers, or servers that somebody else runs. It also keeps track of the one
// ensemble of each user that stays, that of 'zkbench up'.
package drivers
