package bench

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/published"
	"github.com/zkbench/zkbench/zk/zktest"
)

// latency is a configuration in which requests and events take time, which is exact in a synctest bubble.
var latency = zktest.Config{OpLatency: 2 * time.Millisecond, EventLatency: time.Millisecond}

func TestRunOfEachVariant(t *testing.T) {
	for _, v := range append(lock.Variants(), published.Locks()[0]) {
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, latency, "variants: ["+v.Name+"]", "sessions: [1, 5]")
				doc := r.mustRun()
				if len(doc.Cells) != 2 {
					t.Fatalf("%d cells, want 2", len(doc.Cells))
				}
				timers := int64(0)
				for _, u := range r.updates {
					if u.Second != nil {
						timers += u.Second.Lag.Count()
					}
				}
				if timers < 180 { // in two cells of five seconds, one every fifty milliseconds
					t.Errorf("the progress has the lag of %d timers, want some 200", timers)
				}
				for _, c := range doc.Cells {
					if c.Operations == 0 || c.ElapsedS != 4 || c.Throughput != float64(c.Operations)/4 || c.Loop != "closed" {
						t.Errorf("%d operations in %v s, %v/s, loop %s", c.Operations, c.ElapsedS, c.Throughput, c.Loop)
					}
					if length := c.Steady.To - c.Steady.From; c.Steady.From < 1 || length < 3.999 || length > 4.001 {
						t.Errorf("the steady phase was %+v, want 4 s after a warm-up of at least one", c.Steady)
					}
					if lag := c.Latency["acquire.lag"]; lag.Max > 0.001 {
						t.Errorf("a closed loop is late: %+v", lag)
					}
					if got := c.Latency["acquire.response"]; got.Count != c.Operations {
						t.Errorf("%d responses of %d operations", got.Count, c.Operations)
					}
					packets, _ := c.Server.Get("packets_received")
					if seconds, _ := c.Server.Get("seconds"); packets == 0 || math.Abs(seconds-4) > 1e-6 {
						t.Errorf("the servers' figures are not those of the steady phase: %v packets in %v s", packets, seconds)
					}
				}
			})
		})
	}
}
