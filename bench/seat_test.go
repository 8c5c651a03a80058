package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/results"
)

// assertRejoined asserts that the seats lost a number of sessions in total, that the cell says so, and that its promises held.
func assertRejoined(t *testing.T, r *rig, c results.Cell, lost int) {
	t.Helper()
	opened := 0
	for seat, all := range r.sessions {
		if seat >= 0 {
			opened += len(all)
		}
	}
	if opened != c.Sessions+lost || c.Errors["session expired"] != int64(lost) {
		t.Errorf("%d sessions opened for %d seats, %d said to have expired; want %d lost", opened, c.Sessions, c.Errors["session expired"], lost)
	}
	if c.Errors["lost"]+c.Errors["release lost"] < int64(lost) {
		t.Errorf("%d acquisitions and %d releases were lost with %d sessions", c.Errors["lost"], c.Errors["release lost"], lost)
	}
	if note := map[bool]string{true: "1 session expired and was opened again", false: fmt.Sprintf("%d sessions expired and were opened again", lost)}[lost == 1]; !slices.Contains(c.Notes, note) {
		t.Errorf("notes %q, want %q", c.Notes, note)
	}
	for _, k := range c.Checks {
		if k.Verdict != "holds" && !(k.Uncontended && c.Sessions <= c.Objects) { // one session per lock
			t.Errorf("%s is %s: %s", k.Name, k.Verdict, k.Detail)
		}
	}
}

func TestSessionExpires(t *testing.T) {
	for _, v := range lock.Variants() {
		if v.Unsafe {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, latency, "variants: ["+v.Name+"]", "sessions: [5]", "duration: 10s")
				r.at(outcome.PhaseSteady, 3*time.Second, func() { r.ens.Expire(r.session(2)); r.ens.Expire(r.session(4)) })
				assertRejoined(t, r, r.mustRun().Cells[0], 2)
			})
		})
	}
}

// A seat is cut off for longer than its session lives. It learns that when it is connected again, and until then the others continue.
func TestSeatIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "sessions: [5]", "duration: 20s", "session_timeout: 2s")
		r.at(outcome.PhaseSteady, 3*time.Second, func() {
			r.ens.Partition(r.session(2))
			time.AfterFunc(5*time.Second, func() { r.ens.Reconnect(r.session(2)) })
		})
		assertRejoined(t, r, r.mustRun().Cells[0], 1)
	})
}

// While a session of an open loop is being replaced, work still comes due, and is done late.
func TestOpenLoopSurvivesItsSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "sessions: [4]", "locks: 4", "rate: 40/s", "duration: 10s")
		refused := 0
		r.at(outcome.PhaseSteady, 3*time.Second, func() {
			r.set(func() {
				r.refuse = func(int) error {
					if refused++; refused <= 3 {
						return errRefused
					}
					return nil
				}
			})
			r.ens.Expire(r.session(1))
		})
		c := r.mustRun().Cells[0]
		assertRejoined(t, r, c, 1)
		if c.Errors["unfinished"] != 0 || c.Errors["failed"] != 0 || !slices.Contains(c.Notes, "3 attempts to open a session again failed") {
			t.Errorf("errors %v, notes %q", c.Errors, c.Notes)
		}
		if got := c.Latency["acquire.lag"]; got.Max < 300 {
			t.Errorf("the longest lag is %v ms, want the time without a session: 50+100+200 ms", got.Max)
		}
	})
}

// The session of a seat is lost just before the end and cannot be replaced: what was due is unfinished, and counted once.
func TestOpenLoopWithoutSessionAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "sessions: [4]", "locks: 4", "saturation: allowed", "rate: 40/s", "duration: 4s", "drain: 3s")
		r.at(outcome.PhaseSteady, 3*time.Second, func() {
			r.set(func() {
				r.refuse = func(seat int) error {
					if seat >= 0 {
						return errRefused
					}
					return nil
				}
			})
			r.ens.Expire(r.session(1))
		})
		c := r.mustRun().Cells[0]
		offered := int64(0)
		for i := range uint32(4) {
			for _, due := range dues(plan.Poisson(100*time.Millisecond, plan.Random(seed, 1, i, plan.ArrivalStream)), 5*time.Second) {
				if due >= time.Second {
					offered++
				}
			}
		}
		if total(c) != offered || c.Errors["unfinished"] == 0 || c.Errors["session expired"] != 1 {
			t.Errorf("%d offered, %d done, errors %v", offered, c.Operations, c.Errors)
		}
		if !strings.Contains(strings.Join(c.Notes, "\n"), "saturated") {
			t.Errorf("notes %q", c.Notes)
		}
	})
}
