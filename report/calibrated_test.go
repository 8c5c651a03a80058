package report

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
)

// Reports name a stored calibration, and say what it means for their figures and whether its rates are those of these servers.
func TestCalibrated(t *testing.T) {
	c := results.Calibration{Made: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Ensemble: "local:1", Servers: 1, ZooKeeper: "3.9.3", Here: true,
		Work:        []results.Floor{{Name: "read", CPU: []float64{50, 40, 10}}, {Name: "write", CPU: []float64{1}}},
		Conclusions: results.Trust{Reads: 9000, Writes: 1200, Shortest: 4000, Single: 0.25, Pairs: 0.1}}
	on, off := true, false
	same := results.Environment{Ensemble: "local", Servers: 1, ZooKeeper: "3.9.3", Fsync: &on, Cores: 2}
	other, unsynced, encrypted := same, same, same
	other.Servers, unsynced.Fsync, encrypted.Encrypted = 3, &off, true
	for _, e := range []results.Environment{other, unsynced, encrypted, {Ensemble: "external", Servers: 1, ZooKeeper: "3.9.3", Addresses: []string{"a:1"}}} {
		if c.For(e).Same {
			t.Errorf("%+v is taken for the ensemble of the calibration", e)
		}
	}
	if given := (&results.Calibration{Ensemble: "a:1,b:1", Servers: 2, ZooKeeper: "3.9.3"}); !given.For(results.Environment{Ensemble: "external", Servers: 2, ZooKeeper: "3.9.3",
		Addresses: []string{"a:1", "b:1"}}).Same {
		t.Error("given servers are not taken for those of the calibration")
	}
	if none := (*results.Calibration)(nil); none.For(same) != nil {
		t.Error("no calibration says something")
	}
	run := func(e results.Environment, cells ...results.Cell) results.Run {
		e.Calibration = c.For(e)
		return results.Run{Environment: e, Cells: cells}
	}
	quick := results.Cell{Workload: "lock", Variant: "v", Loop: "open", Sessions: 3, Measured: ofLock, Measures: []string{"acquire"}, Counted: []string{"acquire"},
		Latency: map[string]results.Latency{"acquire.response": {Count: 1000, P50: 3.9}}}
	slow := quick
	slow.Latency = map[string]results.Latency{"acquire.response": {Count: 1000, P50: 4.1}}
	pairs := func(e results.Environment, n int, least float64) string {
		return CalibrationOfPairs(*c.For(e), e, n, least)
	}
	several := func(all ...results.Environment) results.Run {
		for i := range all {
			all[i].Calibration = c.For(all[i])
		}
		quick, there := quick, quick
		there.Environment, there.Variant = 1, "w"
		return results.Run{Environment: all[0], Environments: all, Cells: []results.Cell{quick, there}}
	}
	five := other
	five.Servers = 5
	c3, costly := c, run(same, quick)
	c3.Own = []results.Beside{{OwnShare: results.OwnShare{Load: "writes", Rate: 0.2, Low: -0.1, High: 0.3}}, {OwnShare: results.OwnShare{Load: "locks", Rate: 0.05, Low: -0.01, High: 0.07}}, {OwnShare: results.OwnShare{Load: "reads", Rate: 0.3, Low: 0.2, High: 0.4}}}
	costly.Environment.Calibration = c3.For(same)
	beside := func(loop string) string {
		run := costly
		run.Cells = []results.Cell{quick, quick}
		run.Cells[0].Loop, run.Cells[1].Loop = loop, loop
		return strings.Join(ownShares(run, rowsOf(run)), "|")
	}
	c2 := c
	c2.Made, c2.Conclusions.Single = c.Made.Add(time.Hour), 0.5
	two := several(other, five)
	two.Environments[1].Calibration = c2.For(five)
	const rates = "Its rates were measured on servers other than 3 servers (local)"
	for _, tc := range []struct{ name, got, has, not string }{
		{"a run", strings.Join(calibration(run(same, quick)), ""), "2026-01-02 03:04, with 1 server (local:1): comparing two single runs cannot show a throughput difference below 25 %.", rates},
		{"short responses", strings.Join(calibration(run(same, quick)), ""), "below 4 ms include this machine's late timers: v, 3 sessions.", rates},
		{"long responses", strings.Join(calibration(run(same, slow)), ""), "25 %", "late timers"},
		{"other servers", strings.Join(calibration(run(other, slow)), ""), rates, "late timers"},
		{"other connections", strings.Join(calibration(run(encrypted, slow)), ""), "on servers other than 1 server (local) over TLS: calibrate", "late timers"},
		{"no calibration", strings.Join(calibration(results.Run{Environment: same, Cells: []results.Cell{quick}}), ""), "", "Calibration"},
		{"several ensembles", strings.Join(calibration(several(same, other, five, other)), "|"), "than 3 servers (local), 5 servers (local): calibrate", "|"},
		{"several that are alike", strings.Join(calibration(several(same, same)), "|"), "v, 3 sessions, w, 3 sessions.", "other servers"},
		{"two calibrations", strings.Join(calibration(two), "|"), "below 25 %. Median responses below 4 ms include this machine's late timers: v, 3 sessions. Its rates were measured on servers other than " +
			"3 servers (local): calibrate on these to get theirs.|Calibration of this machine, 2026-01-02 04:04, with 1 server (local:1): comparing two single runs cannot show a throughput difference below 50 %. Median responses below 4 ms include this machine's late timers: w, 3 sessions. Its rates were measured on servers other than 5 servers (local)", "5 servers (local), 3"},
		{"its own share", strings.Join(calibration(costly), ""), "late timers: v, 3 sessions. zkbench's own share at full load: 20 % of the rate of writes (-10 % to 30 %), 5 % of the rate of locks (-1 % to 7 %), 30 % of the rate of reads (20 % to 40 %).", "more than"},
		{"no own share", strings.Join(calibration(run(same, quick)), ""), "25 %", "own share"},
		{"beside a closed loop", beside("closed"), "with 1 server (local:1), zkbench's own share at full load is more than 5 % in the median: 30 % of the rate of reads (20 % to 40 %). Where CPUs limit", "|"},
		{"beside an open loop", beside("open") + ".", ".", "own share"},
		{"beside a closed loop without a calibration", strings.Join(ownShares(results.Run{Cells: []results.Cell{slow}}, rowsOf(results.Run{Cells: []results.Cell{slow}})), "") + ".", ".", "own share"},
		{"enough pairs", pairs(same, 10, 0.1), "10 pairs should show throughput differences of about 10 % and more.", "would take"},
		{"too few pairs", pairs(same, 10, 0.05), "the minimum effect, 5 %, would take about 40 pairs", rates},
		{"far too few pairs", pairs(same, 10, 0.01), "the minimum effect, 1 %, needs a quieter machine or longer runs.", "would take"},
		{"fewer pairs show less", pairs(other, 5, 0.2), "of about 14 % and more. " + rates, "would take"},
		{"pairs and its own share", CalibrationOfPairs(*c3.For(same), same, 10, 0.1), "of about 10 % and more. zkbench's own share at full load: 20 % of the rate of writes", rates},
		{"loads and its own share", CalibrationOfLoads(*c3.For(other), other, 2), " zkbench's own share at full load: 20 % of the rate of writes", "late timers"},
		{"loads without an own share", CalibrationOfLoads(*c.For(other), other, 2), "9000 reads/s", "own share"},
		{"loads", CalibrationOfLoads(*c.For(other), other, 2), "up to 9000 reads/s or 1200 writes/s", "late timers"},
		{"the generator", CalibrationOfLoads(*c.For(other), other, 2), "uses 40 us of CPU per request, so on 2 cores it sends at most 50000/s. A goal below 4 ms", "late"},
	} {
		if !strings.Contains(tc.got, tc.has) || strings.Contains(tc.got, tc.not) && tc.not != "" {
			t.Errorf("%s: %q has to say %q, and not %q", tc.name, tc.got, tc.has, tc.not)
		}
	}
}
