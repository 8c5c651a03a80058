package bench

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk/zktest"
)

// near compares within the precision of the histograms: three digits, and slots of half a microsecond.
func near(got, want float64) bool { return math.Abs(got-want) <= 0.001*want+0.001 }

// stall makes the servers delay all requests of the seats between two offsets from now.
func (r *rig) stall(from, to time.Duration) {
	begin := time.Now()
	r.ens.Hook(func(op zktest.Op) zktest.Action {
		if now := time.Since(begin); r.isSeat(op.Session) && now >= from && now < to {
			time.Sleep(to - now)
		}
		return zktest.Action{}
	})
}

// isSeat distinguishes the session of a seat from the administrative one and those of the probes.
func (r *rig) isSeat(s *zktest.Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for seat, all := range r.sessions {
		if slices.Contains(all, s) {
			return seat >= 0
		}
	}
	return false
}

// total returns how many operations of a cell were due in the steady phase, however they ended.
func total(c results.Cell) int64 {
	return c.Operations + c.Errors["timeout"] + c.Errors["lost"] + c.Errors["failed"] + c.Errors["unfinished"]
}

// A service that stalls for S of T seconds makes all requests that arrive in that time wait for the rest of it: on average S/2 for a
// share of S/T, so the mean excess is S^2/2T and the maximum S. A generator that waits for its answers would see S once.
//
// Otherwise the servers answer at once, so the response is exactly the excess: the sum over the due times within the stall.
// The histograms keep three digits. The formula assumes continuous arrivals, but they are a grid of gap d, which is off by
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
				for _, due := range dues(plan.Uniform(gap, plan.Random(seed, 1, i, plan.ArrivalStream)), warmup+T) {
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

// Work that is offered and not done when the drain ends is unfinished: it is counted, whether or not it was started.
func TestOpenLoopForgetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, zktest.Config{}, "sessions: [10]", "locks: 10", "rate: 100/s", "hold: 0s", "duration: 4s", "drain: 2s", "saturation: allowed")
		r.stall(3*time.Second, time.Minute)
		cell := r.mustRun().Cells[0]
		time.Sleep(time.Minute) // for the requests that the servers delay
		offered := int64(0)
		for i := range uint32(10) {
			for _, due := range dues(plan.Poisson(100*time.Millisecond, plan.Random(seed, 1, i, plan.ArrivalStream)), 5*time.Second) {
				if due >= time.Second {
					offered++
				}
			}
		}
		if total(cell) != offered || cell.Errors["unfinished"] == 0 || cell.Operations == 0 {
			t.Errorf("%d offered, %d done, errors %v", offered, cell.Operations, cell.Errors)
		}
		if !strings.Contains(strings.Join(cell.Notes, "\n"), "saturated: "+phrase.Number(float64(offered)/4, 3)+"/s came due") {
			t.Errorf("notes %q do not say saturated", cell.Notes)
		}
	})
}

// A backlog that the drain works off does not count as throughput of the steady phase: the cell is saturated, and its rate is that of the service.
func TestBacklogIsNotThroughput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, zktest.Config{}, "sessions: [10]", "rate: 150/s", "hold: 10ms", "duration: 5s", "drain: 1m", "saturation: allowed")
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

// A cell that could not measure its offered load is no evidence, unless the profile allows saturation. Its row has one scope for each
// number: what went over the wire is divided by what was done in the meantime, and what came due is reported.
func TestALoadThatIsNotServed(t *testing.T) {
	for allowed, code := range map[string]int{"refused": 5, "allowed": 0} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, latency, "sessions: [10]", "rate: 1000/s", "hold: 100ms", "duration: 10s", "drain: 1s", "saturation: "+allowed)
			doc, err := r.run()
			if err != nil || doc.Exit.Code != code || strings.Contains(doc.Exit.Reason, "the offered load was not sustained: predecessor with 10 sessions at 1000/s: 989/s came due, ") != (code == 5) {
				t.Errorf("saturation %s: %v, exit %+v, want %d", allowed, err, doc.Exit, code)
			}
			c := doc.Cells[0]
			due := int64(0)
			for i := range uint32(10) {
				for _, at := range dues(plan.Poisson(10*time.Millisecond, plan.Random(seed, 1, i, plan.ArrivalStream)), 11*time.Second) {
					if at >= time.Second {
						due++
					}
				}
			}
			if !c.Saturated || c.Due != due || c.OfferedPerS != float64(due)/10 || c.RatePerS != 1000 || c.Unserved+c.Operations != due || c.Unserved < due*9/10 {
				t.Errorf("%d of %d unserved, %d done, %v/s offered at %v/s: want %d due", c.Unserved, c.Due, c.Operations, c.OfferedPerS, c.RatePerS, due)
			}
			// A grant costs two getChildren calls and a create; it takes a hold and two round trips.
			if grants := c.Done["acquire"]; grants < 90 || grants > 100 || c.Throughput != float64(grants)/10 {
				t.Errorf("%d grants in 10 s, %v/s", grants, c.Throughput)
			}
			for key, want := range map[string]float64{"create": 1, "delete": 1, "list": 2} {
				if got := c.Cost[key]; math.Abs(got-want) > 0.02*want {
					t.Errorf("%v of %s per grant, want %v", got, key, want)
				}
			}
			if got := c.Fanout.EventsPerRelease; math.Abs(got-1) > 0.02 {
				t.Errorf("%v events per release, want 1", got)
			}
			// All that is known of the p50 is that it is later than the end: a session that waited from the middle on has waited for 6 s by then.
			l := c.Latency["acquire.response"]
			if !slices.Equal(l.AtLeast, []string{"min", "mean", "p50", "p90", "p99", "p999", "max"}) || l.Unserved != c.Unserved || l.P50 < 5500 || l.P50 > 6500 || *l.P99 < 10_800 {
				t.Errorf("response %+v", l)
			}
		})
	}
}

func TestSustainedLoadIsNotSaturated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "variants: [predecessor, naive]", "sessions: [20]", "locks: 20", "rate: 100/s", "hold: 5ms", "duration: 10s")
		cells := r.mustRun().Cells
		if total(cells[0]) != total(cells[1]) {
			t.Errorf("%s was offered %d, %s %d", cells[0].Variant, total(cells[0]), cells[1].Variant, total(cells[1]))
		}
		for _, cell := range cells {
			if len(cell.Notes) > 0 || cell.Saturated || cell.Loop != "open" || cell.RatePerS != 100 || cell.Due != total(cell) || cell.OfferedPerS != float64(cell.Due)/10 || cell.Fanout.TheoryPerRelease != 0 {
				t.Errorf("notes %q, loop %s, rate %v/s, %d due, offered %v/s, theory %v", cell.Notes, cell.Loop, cell.RatePerS, cell.Due, cell.OfferedPerS, cell.Fanout.TheoryPerRelease)
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

// From when the release is issued: half a round trip to the server, the event, a getChildren call.
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
		r.at(outcome.PhaseSteady, 0, func() { begun = time.Since(started) })
		cell := r.mustRun().Cells[0]
		if begun < 3*time.Second || begun > 5*time.Second {
			t.Errorf("the steady phase began after %v, want after the 30 first turns of 100ms", begun)
		}
		if cell.ElapsedS != 5 {
			t.Errorf("the steady phase took %v s, want 5", cell.ElapsedS)
		}
	})
}

// The cost of a read/write lock is per grant, to readers or writers, and each number says whose it is. The phases add up to the services of both.
func TestReadersAndWritersTogether(t *testing.T) {
	for _, loop := range [][]string{{"think: 10ms"}, {"rate: 300/s", "saturation: allowed"}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, latency, append(loop, "workload: read-write", "variants: [read-write]", "sessions: [8]", "readers: 80", "hold: 20ms", "duration: 10s")...)
			c := r.mustRun().Cells[0]
			writers, readers, both := c.Latency["acquire.response"], c.Latency["read-acquire.response"], c.Latency["both.response"]
			if both.Count != writers.Count+readers.Count || both.Count != c.Operations || writers.Count == 0 || readers.Count < 2*writers.Count {
				t.Errorf("%v: %d responses of both, %d of writers, %d of readers, %d operations", loop, both.Count, writers.Count, readers.Count, c.Operations)
			}
			if c.CostPer != "grant" || c.Costs[0].Of != "writes" || math.Abs(c.Costs[0].Measured-2) > 0.02 {
				t.Errorf("%v: %+v per %s, want 2 writes per grant: a create and a delete", loop, c.Costs[0], c.CostPer)
			}
			if got := c.Cost["create"] + c.Cost["delete"]; math.Abs(got-c.Costs[0].Measured) > 0.001 {
				t.Errorf("%v: %v creates and deletes per grant in cost, %v writes in cost_per_success", loop, got, c.Costs[0].Measured)
			}
			if jain, dealt := c.Cost["fairness_jain"], c.Cost["fairness_random"]; jain <= 0 || dealt <= 0.8 || dealt >= 1 {
				t.Errorf("%v: fairness %v, %v where as many grants are dealt at random", loop, jain, dealt)
			}
			total := func(ops ...string) (ms float64) {
				for _, op := range ops {
					l, lost := c.Latency[op+".service"], c.Latency[op+".service.unserved"]
					ms += l.Mean*float64(l.Count+l.Unserved) - lost.Mean*float64(lost.Count)
				}
				return ms
			}
			phases, service := total("enqueue", "list", "wait", "delivery", "re-check"), total("acquire", "read-acquire")
			if service == 0 || math.Abs(phases/service-1) > 0.01 {
				t.Errorf("%v: the phases sum up to %v ms of %v ms", loop, phases, service)
			}
		})
	}
}

// Work that was never started counts for the side that it would have had, so that writers do not get the waits of readers.
func TestWhatWasNotServedHasItsSide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "workload: read-write", "variants: [read-write]", "sessions: [8]", "rate: 1000/s", "readers: 80", "hold: 20ms", "saturation: allowed")
		c := r.mustRun().Cells[0]
		writers, readers := c.Latency["acquire.response"], c.Latency["read-acquire.response"]
		all := writers.Count + writers.Unserved + readers.Count + readers.Unserved
		if share := float64(readers.Count+readers.Unserved) / float64(all); c.Unserved < all/2 || share < 0.75 || share > 0.85 {
			t.Errorf("%d of %d were not served; %.2f of all were readers, want 0.80", c.Unserved, all, share)
		}
	})
}

// Servers that have just been started get faster: the first cell of a closed loop warms up for longer. The second does not, nor does a short trial.
func TestYoungServersAreWarmedUp(t *testing.T) {
	for _, tc := range []struct {
		uptime, duration, longer time.Duration
	}{{3 * time.Second, 8 * time.Second, 8 * time.Second}, {3 * time.Second, 40 * time.Second, 15 * time.Second}, {3 * time.Second, 2 * time.Second, 0}, {time.Hour, 8 * time.Second, 0}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, latency, "warmup: 2s", "duration: "+tc.duration.String(), "sessions: [2, 3]")
			r.config.Ensemble = up{r, tc.uptime}
			doc, err := r.run()
			if err != nil || len(doc.Cells) != 2 {
				t.Fatalf("%v, %d cells", err, len(doc.Cells))
			}
			for i, c := range doc.Cells {
				want := 2 * time.Second
				if i == 0 {
					want += tc.longer
				}
				if from := time.Duration(c.Steady.From * float64(time.Second)); from < want || from > want+time.Second {
					t.Errorf("up for %v, %v of steady phase, cell %d: it began after %v, want about %v", tc.uptime, tc.duration, i+1, from, want)
				}
				if reported := slices.ContainsFunc(c.Notes, func(n string) bool { return strings.Contains(n, "Java is still getting faster") }); reported != (i == 0 && tc.longer > 0) {
					t.Errorf("up for %v, %v of steady phase, cell %d: notes %q", tc.uptime, tc.duration, i+1, c.Notes)
				}
			}
		})
	}
}

// up is an ensemble whose server has been up for a time.
type up struct {
	*rig
	uptime time.Duration
}

func (u up) Stats(ctx context.Context) []ensemble.ServerStats {
	all := u.rig.Stats(ctx)
	for i := range all {
		all[i].Uptime = u.uptime
	}
	return all
}
