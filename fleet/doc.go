// Package fleet coordinates several processes, on any number of hosts, that carry out the shares of one run.
//
// Who carries out which session is arithmetic (internal/sharing). When to start, and how the others ended, the shares learn from a ZooKeeper ensemble
// apart from the one under test, through zkbench's own recipes: there is no agent, and no protocol of its own.
package fleet
