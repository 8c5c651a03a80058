// Package capacity searches for the highest load at which latency goals are met: it plans probes and judges what they measured.
//
// It is arithmetic alone. A Search has no clock, sends nothing and knows no ensemble: it is asked for the next probe, and told what the probe
// measured by the caller, who carries probes out. The same Plan and the same measurements give the same probes and the same Result.
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
