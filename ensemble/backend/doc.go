// Package backend chooses where an ensemble comes from: local processes, containers, or servers that somebody else runs. It also keeps track of each
// user's one detached ensemble, that of 'zkbench up'.
package backend
