// Package scenarios is the published recipes' faults, each in the situation that shows it.
//
// A scenario is a script of a few sessions: one holds, one waits, a connection is cut between a create and its reply. It is the same
// for every variant, so that it says as much of a sound lock, which must come through it, as of the one whose fault it was written
// for. After its steps the trial looks at the state, and at nothing else:
//
//   - exclusion is violated when two handles hold at once;
//   - liveness is violated when somebody waits who can never be granted: nobody holds, or the waiter has no znode, and neither a
//     request nor an event has come for a second, after which the waiter's own connection and the servers have answered a sync;
//   - reuse is violated when a handle that holds nothing refuses to acquire because it holds;
//   - rest is violated when a waiter goes on asking, hundreds of requests a second, though nothing changes.
//
// Races are staged at pause points of the recipes and by a proxy that breaks connections at named requests. Time decides nothing but
// how long silence is listened to.
package scenarios
