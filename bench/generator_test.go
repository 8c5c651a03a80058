package bench

import (
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk/zktest"
)

// The peak memory of a cell is its own, and not what the process needed before.
func TestMemoryIsThatOfTheCell(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux, which tells the most memory that was resident and forgets it")
	}
	ballast := make([]byte, 256<<20)
	for i := range ballast {
		ballast[i] = 1
	}
	before := metrics.ReadFootprint().MaxRSS
	if err := metrics.ResetMaxRSS(); err != nil || before < int64(len(ballast)) {
		t.Fatalf("the most memory that was resident is %d MiB with %d MiB in use, and reset: %v", before>>20, len(ballast)>>20, err)
	}
	ballast = nil
	debug.FreeOSMemory()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, zktest.Config{})
		if most := r.mustRun().Cells[0].Generator.MaxRSSMiB; *most > float64(before)/(1<<20)-100 {
			t.Errorf("the most memory in the cell is %.0f MiB, and %d MiB before it", *most, before>>20)
		}
	})
}
