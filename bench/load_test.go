package bench

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk/zktest"
)

// precision of the histograms: three digits, and slots of half a microsecond.
func near(got, want float64) bool { return math.Abs(got-want) <= 0.001*want+0.001 }

// stall makes the servers hold up everything that the seats ask between two offsets from now.
func (r *rig) stall(from, to time.Duration) {
	begin := time.Now()
	r.ens.Hook(func(op zktest.Op) zktest.Action {
		r.mu.Lock()
		admin := len(r.sessions[-1]) > 0 && op.Session == r.sessions[-1][0]
		r.mu.Unlock()
		if now := time.Since(begin); !admin && now >= from && now < to {
			time.Sleep(to - now)
		}
		return zktest.Action{}
	})
}

// total is how many operations of a cell were due in the steady phase, however they ended.
func total(c results.Cell) int64 {
	return c.Operations + c.Errors["timeout"] + c.Errors["lost"] + c.Errors["failed"] + c.Errors["unfinished"]
}

// A service that stands still for S of T seconds makes whoever comes in that time wait for the rest of it: in the mean S/2 for a
// share of S/T, so the mean excess is S^2/2T and the highest S. A generator that waits for its answers would see S once.
//
// The servers answer at once otherwise, so the response is the excess, and exact: the sum over the due times within the stall.
// The histograms keep three digits; the formula takes the arrivals as continuous, and they are a grid of gap d, which is off by
// less than d/S of it.
func TestCoordinatedOmission(t *testing.T) {
	const sessions, perSecond = 20, 200
	const warmup, T, S, at = time.Second, 20 * time.Second, 2 * time.Second, 6 * time.Second
	synctest.Test(t, func(t *testing.T) {
		for _, variant := range []string{"predecessor", "naive", "single-node"} {
			r := newRig(t, zktest.Config{}, "variants: ["+variant+"]", "sessions: [20]", "locks: 20", "rate: 200/s", "arrivals: uniform",
				"hold: 0s", "duration: 20s")
			r.stall(at, at+S)
			cell := r.mustRun().Cells[0]

			offered, sum, longest := int64(0), time.Duration(0), time.Duration(0)
			for i := range uint32(sessions) {
				gap := time.Duration(float64(sessions) / perSecond * float64(time.Second))
				for _, due := range dues(uniform(gap, random(seed, 1, i, streamArrivals)), warmup+T) {
					if due >= warmup {
						offered++
					}
					if due >= at && due < at+S {
						sum, longest = sum+at+S-due, max(longest, at+S-due)
					}
				}
			}
			ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
			got := cell.Latency["acquire.response"]
			if want := ms(sum) / float64(offered); !near(got.Mean, want) {
				t.Errorf("%s: mean response %v ms, want %v ms", variant, got.Mean, want)
			}
			if !near(got.Max, ms(longest)) {
				t.Errorf("%s: longest response %v ms, want %v ms", variant, got.Max, ms(longest))
			}
			if formula := ms(S) * S.Seconds() / (2 * T.Seconds()); math.Abs(got.Mean/formula-1) > 0.05 {
				t.Errorf("%s: mean response %v ms, S^2/2T is %v ms", variant, got.Mean, formula)
			}
			if math.Abs(got.Max/ms(S)-1) > 0.01 {
				t.Errorf("%s: longest response %v ms, S is %v ms", variant, got.Max, ms(S))
			}
			if cell.Operations != offered || total(cell) != offered {
				t.Errorf("%s: %d offered, %d done, %d accounted for", variant, offered, cell.Operations, total(cell))
			}
			if got := cell.Latency["acquire.service"]; !near(got.Max, ms(longest)) {
				t.Errorf("%s: longest service %v ms: who was under way waited %v ms", variant, got.Max, ms(longest))
			}
		}
	})
}

// Work that is offered and not done when the drain ends is unfinished: begun or not, it is counted.
func TestOpenLoopForgetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, zktest.Config{}, "sessions: [10]", "locks: 10", "rate: 100/s", "hold: 0s", "duration: 4s", "drain: 2s")
		r.stall(3*time.Second, time.Minute)
		cell := r.mustRun().Cells[0]
		time.Sleep(time.Minute) // for the requests that the servers hold up
		offered := int64(0)
		for i := range uint32(10) {
			for _, due := range dues(poisson(100*time.Millisecond, random(seed, 1, i, streamArrivals)), 5*time.Second) {
				if due >= time.Second {
					offered++
				}
			}
		}
		if total(cell) != offered || cell.Errors["unfinished"] == 0 || cell.Operations == 0 {
			t.Errorf("%d offered, %d done, errors %v", offered, cell.Operations, cell.Errors)
		}
		if !strings.Contains(strings.Join(cell.Notes, "\n"), "saturated: 100.0/s offered") {
			t.Errorf("notes %q do not say saturated", cell.Notes)
		}
	})
}

// A backlog that the drain works off was not achieved in the steady phase: the cell says saturated, and its rate is the service's.
func TestBacklogIsNotThroughput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, zktest.Config{}, "sessions: [10]", "rate: 150/s", "hold: 10ms", "duration: 5s", "drain: 1m")
		cell := r.mustRun().Cells[0]
		if math.Abs(cell.Throughput-100) > 1 {
			t.Errorf("%v/s achieved, want the 100/s that a hold of 10ms allows", cell.Throughput)
		}
		if total(cell) != cell.Operations || cell.Operations < 700 {
			t.Errorf("%d done of %d, want all of about 750", cell.Operations, total(cell))
		}
		if !strings.Contains(strings.Join(cell.Notes, "\n"), "saturated") {
			t.Errorf("notes %q do not say saturated", cell.Notes)
		}
	})
}

func TestSustainedLoadIsNotSaturated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "variants: [predecessor, naive]", "sessions: [20]", "locks: 20", "rate: 100/s", "hold: 5ms", "duration: 10s")
		cells := r.mustRun().Cells
		if total(cells[0]) != total(cells[1]) {
			t.Errorf("%s was offered %d, %s %d", cells[0].Variant, total(cells[0]), cells[1].Variant, total(cells[1]))
		}
		for _, cell := range cells {
			if len(cell.Notes) > 0 || cell.Loop != "open" || cell.OfferedPerS != 100 || cell.Fanout.TheoryPerRelease != 0 {
				t.Errorf("notes %q, loop %s, offered %v/s, theory %v", cell.Notes, cell.Loop, cell.OfferedPerS, cell.Fanout.TheoryPerRelease)
			}
		}
	})
}

// One session's cycle: create and list, hold, delete, think.
func TestClosedLoopCycle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "sessions: [1]", "hold: 5ms", "think: 50ms", "duration: 10s")
		cell := r.mustRun().Cells[0]
		cycle := 4.0 + 5 + 2 + 50
		if math.Abs(float64(cell.Operations)-10000/cycle) > 1 {
			t.Errorf("%d operations in 10 s, want about %.0f", cell.Operations, 10000/cycle)
		}
		if got := cell.Latency["acquire.response"]; !near(got.Min, 4) || !near(got.Max, 4) {
			t.Errorf("response %v to %v ms, want 4", got.Min, got.Max)
		}
		if got, ok := cell.Latency["hand-off.service"]; ok {
			t.Errorf("%d hand-offs with a single session", got.Count)
		}
	})
}

// From the release being issued: half a round trip to the server, the event, a list.
func TestHandOffIsExact(t *testing.T) {
	for _, variant := range []string{"naive", "predecessor"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, latency, "variants: ["+variant+"]", "sessions: [5]", "hold: 20ms")
			cell := r.mustRun().Cells[0]
			got := cell.Latency["hand-off.service"]
			if !near(got.Min, 4) || !near(got.Max, 4) || got.Count != cell.Operations {
				t.Errorf("%s: %d hand-offs of %v to %v ms, want %d of 4 ms", variant, got.Count, got.Min, got.Max, cell.Operations)
			}
		})
	}
}

func TestWarmUpWaitsForEverySession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "sessions: [30]", "hold: 100ms", "warmup: 1s", "duration: 5s")
		started, begun := time.Now(), time.Duration(0)
		r.at(PhaseSteady, 0, func() { begun = time.Since(started) })
		cell := r.mustRun().Cells[0]
		if begun < 3*time.Second || begun > 5*time.Second {
			t.Errorf("the steady phase began after %v, want after the 30 first turns of 100ms", begun)
		}
		if cell.ElapsedS != 5 {
			t.Errorf("the steady phase took %v s, want 5", cell.ElapsedS)
		}
	})
}
