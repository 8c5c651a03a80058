// Package fleet coordinates several processes, on any number of hosts, that carry out the shares of one run.
//
// Arithmetic alone decides which share carries out which session (internal/sharing). Through a ZooKeeper ensemble apart from the one under test, and
// zkbench's own recipes, the shares learn when to start and how the other shares ended: there is no agent and no separate protocol.
package fleet
