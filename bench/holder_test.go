package bench

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk/zktest"
)

// heldUp runs a driver whose locks last for two seconds, which no busy machine takes to use one, with faults of holders after the steady phase.
func heldUp(t *testing.T, lock string, lines ...string) results.Cell {
	t.Helper()
	lines = append([]string{"processes: 3", "sessions: 6", "fence: both", "overtime: 12s",
		"faults: [{at: 750ms, kind: kill-holder}, {at: 4s, kind: pause-holder, for: 6s}]", "session_timeout: 4s"}, lines...)
	doc, err := external(t, fmt.Sprintf("%s -dir %s %s", built(t, "./testdata/leased"), t.TempDir(), lock), lines...)
	if err != nil || len(doc.Cells) != 1 {
		t.Fatal(err)
	}
	if doc.Exit.Code != 0 && doc.Exit.Code != 5 { // such a short steady phase may have no operation on a busy machine
		t.Errorf("exit %+v", doc.Exit)
	}
	return doc.Cells[0]
}

// A killed holder keeps its lock until its time is over, and a paused one writes when it continues, after the next holder: a resource that accepts everything accepts
// that write, and one that compares tokens does not. Neither is in the figures of the steady phase.
func TestHoldersThatAreKilledAndStopped(t *testing.T) {
	t.Parallel()
	c := heldUp(t, "-for 2s -tokens")
	if len(c.Faults) != 2 {
		t.Fatalf("faults %+v", c.Faults)
	}
	for _, f := range c.Faults {
		if f.Error != "" || f.Object == nil || *f.Object != 0 || f.LockFree == nil || !strings.Contains(f.Target, "holder of object 0") {
			t.Errorf("%+v", f)
		}
	}
	if d := c.Driver; d.Killed != 1 || d.Ended != 0 {
		t.Errorf("driver %+v", d)
	}
	if unfenced, fenced, rejected := c.Cost["stale_writes_unfenced"], c.Cost["stale_writes_accepted"], c.Cost["stale_writes_rejected"]; unfenced < 1 || fenced != 0 || rejected != unfenced {
		t.Errorf("%v stale writes without a fence, %v with one and %v rejected, of the faults %+v", unfenced, fenced, rejected, c.Faults)
	}
	for _, name := range []string{"fence", "mutual-exclusion", "token-order", "liveness"} {
		if k := checkOf(t, c, name); k.Verdict != "holds" {
			t.Errorf("%+v", k)
		}
	}
	if c.ElapsedS > 1 { // only the steady phase
		t.Errorf("%v s are measured of a steady phase of 0.7 s", c.ElapsedS)
	}
}

// Without tokens there is nothing to compare, but the stale writes are still counted.
func TestStaleWritesOfALockWithoutTokens(t *testing.T) {
	t.Parallel()
	c := heldUp(t, "-for 2s")
	if _, judged := c.Cost["stale_writes_accepted"]; judged || c.Cost["stale_writes_unfenced"] < 1 {
		t.Errorf("cost %v", c.Cost)
	}
}

func TestFaultsOfHoldersAreOfDriversAlone(t *testing.T) {
	for _, kind := range []string{"kill-holder", "pause-holder"} {
		r := newRig(t, zktest.Config{}, "variants: [predecessor]", "faults: [{at: 100ms, kind: "+kind+"}]")
		if _, err := Run(context.Background(), r.config); err == nil || !strings.Contains(err.Error(), "predecessor is one of zkbench's own recipes") {
			t.Error(err)
		}
	}
}
