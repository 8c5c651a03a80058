// Package fleet makes several processes, on as many hosts as there are, the shares of one run.
//
// Who carries out which session is arithmetic. When they begin and what becomes of each other they learn on a ZooKeeper ensemble apart from the
// one under test, by zkbench's own recipes: there is no agent and no protocol of its own.
package fleet
