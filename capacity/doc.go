// Package capacity searches for the highest load at which latency goals are met: it plans probes and judges what they measured.
//
// It is pure arithmetic. A Search has no clock, sends nothing and knows no ensemble: the caller asks it for the next probe, executes the probe, and tells it
// what the probe measured. The same Plan and the same measurements give the same probes and the same Result.
//
//	for {
//		probe, more := search.Next()
//		if !more {
//			break
//		}
//		search.Tell(carryOut(probe)) // blocks of open-loop load, until search.Enough says so
//	}
//	result := search.Result()
//
// docs/capacity.md describes the method, and simulations that show how often it is right.
package capacity
