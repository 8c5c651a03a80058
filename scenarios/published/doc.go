// Package published demonstrates the defects of published recipes, each in the situation that shows it.
//
// A scenario is a script with a few sessions: one holds, one waits, a connection is cut between a create and its reply. The script is the same
// for every variant, so that it tests sound recipes, which must pass, as well as the one whose defect it was written for. After its
// steps the trial judges by the state alone:
//
//   - exclusion is violated when two handles hold at once, or for a semaphore, one more than it has permits;
//   - liveness is violated when somebody waits who can never be granted: nobody holds, or a permit is free, or the waiter has no znode,
//     and neither a request nor an event has come for a second, after which the waiter's own connection and the servers have answered a sync;
//   - reuse is violated when a handle that holds nothing refuses to acquire because it holds;
//   - rest is violated when a waiter keeps sending requests, hundreds per second, although nothing changes.
//
// For a double barrier, and for a two-phase commit:
//
//   - enter is violated when a member is inside before all have come: one that gave up, or died before it was inside, has not;
//   - leave is violated when a member was let out while another one computes inside;
//   - liveness is violated when, under the same conditions, a member waits to enter although all have come, or to leave although nobody computes; and
//     when a site cannot vote on a transaction that it knows of, or cannot decide;
//   - atomicity is violated when two sites of a transaction decide differently.
//
// ZooKeeper's own recipes are played too, through their driver (Real): the proxy shows what their sessions send, and silence is longer.
//
// Races are staged at pause points of the recipes and by a proxy that breaks connections at named requests. The only times that matter are
// how long silence must last and, in late-vote, which of the sites times out.
package published
