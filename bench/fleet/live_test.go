package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/zk/zktest"
)

// The lowest share hears from the others, but no longer from one that has stopped reporting.
func TestTheLowestShareHearsOfTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := gathered(t, zktest.New(zktest.Config{}), nil)
		for second := range 3 {
			for i, m := range all {
				m.Tell(Live{Cell: 1, PerSecond: float64(100*(i+1) + second)})
			}
			time.Sleep(liveEach)
		}
		time.Sleep(2 * liveEach)
		heard := all[0].Heard()
		if len(heard) != len(all)-1 || heard[2].PerSecond != 202 || heard[3].PerSecond != 302 {
			t.Errorf("the lowest heard %+v", heard)
		}
		if others := all[1].Heard(); len(others) != 0 {
			t.Errorf("the second heard %+v, and nobody asks it", others)
		}
		for range 10 {
			all[2].Tell(Live{Cell: 1, PerSecond: 7})
			time.Sleep(liveEach)
		}
		if heard := all[0].Heard(); len(heard) != 1 || heard[3].PerSecond != 7 {
			t.Errorf("after the second had fallen silent the lowest heard %+v", heard)
		}
		if size := len(encode(Live{Cell: 1e6, Phase: "connecting", Sessions: 1e9, Connected: 1e9, PerSecond: 1.0 / 3, Errors: 1e18, P99: 2.0 / 3})); size > 1024 {
			t.Errorf("what a share tells takes %d bytes", size)
		}
		for _, m := range all {
			m.Close()
		}
	})
}
