package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zkbench/zkbench/internal/golden"
	"github.com/zkbench/zkbench/results"
)

func render(t *testing.T, r Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := r(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// cell returns a cell with made-up numbers: they test the drawing, and are no measurement.
func cell(variant string, sessions, repetition int, grants, handOff float64) results.Cell {
	n := int64(6 * grants)
	percentile := func(least int64, v float64) *float64 {
		if n < least {
			return nil
		}
		return &v
	}
	events, useful := 1.0, 0.98
	if variant == "naive" {
		events, useful = float64(sessions-1), 1/float64(sessions)
	}
	response := 1000 * float64(sessions) / grants
	return results.Cell{Workload: "lock", Variant: variant, Sessions: sessions, Objects: 1, Repetition: repetition, Loop: "closed", Measured: ofLock,
		ElapsedS: 6, Operations: n, Throughput: grants, Parameters: map[string]any{"hold": "10ms"},
		Latency: map[string]results.Latency{
			"acquire.response": {Count: n, P50: response, P99: percentile(368, 1.5*response), P999: percentile(3688, 2*response), Max: 2.5 * response},
			"hand-off.service": {Count: n - 1, P50: handOff, Max: 3 * handOff},
		},
		Fanout: &results.Fanout{EventsPerRelease: events, EventsByRelease: 0.7 * events, EventsByArrival: 0.1 * events, EventsByBoth: 0.19 * events, EventsStale: 0.01 * events,
			TheoryPerRelease: events, RatioToTheory: 1, UsefulShare: &useful, ListsPerAcquire: 1 + events,
			ChildrenNamesPerAcquire: events * float64(sessions), ChildrenBytesPerAcquire: 55 * events * float64(sessions)},
		Cost:   map[string]float64{"wake_efficiency": useful},
		Errors: map[string]int64{"timeout": 0},
		Checks: []results.Check{{Name: "mutual-exclusion", Verdict: "holds", Evidence: int(n)}, {Name: "order", Verdict: "holds", Evidence: int(n)}}}
}

func quickstart() results.Run {
	fsync := true
	return results.Run{Schema: results.Schema, Profile: "quickstart", Seed: 7,
		Environment: results.Environment{Cores: 2, Engine: "native", ZooKeeper: "3.8.0", Servers: 3, Ensemble: "local:3", Fsync: &fsync},
		Cells: []results.Cell{
			cell("naive", 300, 1, 21.2, 37.4), cell("predecessor", 10, 1, 78.4, 2.61), cell("naive", 10, 1, 77.1, 2.83),
			cell("predecessor", 100, 1, 77.9, 2.7), cell("predecessor", 300, 1, 76.8, 2.92), cell("naive", 100, 1, 55.3, 8.11),
		}}
}

// queues is a run of a workload that gives no grants.
func queues() results.Run {
	run := quickstart()
	run.Profile, run.Cells = "queues", nil
	theory := func(v, measured float64) (*float64, *float64) { ratio := measured / v; return &v, &ratio }
	for i, variant := range []string{"fifo", "claim"} {
		c := cell(variant, 10, 1, 200/float64(i+1), 0)
		c.Workload, c.Fanout, c.Cost, c.Measured = "queue", nil, nil, ofQueue
		idle := results.Latency{Count: 600, P50: 777, Max: 778}
		c.Latency = map[string]results.Latency{"take.response": idle, "put.response": c.Latency["acquire.response"], "put-to-take.response": c.Latency["acquire.response"]}
		c.Done = map[string]int64{"take": 600, "put": c.Operations}
		c.Costs = []results.Cost{{Of: "writes", Measured: 2.5}, {Of: "events", Measured: 0.3}}
		c.Costs[0].Theory, c.Costs[0].Ratio = theory(2, 2.5)
		run.Cells = append(run.Cells, c)
	}
	return run
}

// elections is a run of elections, whose fail-overs are measured as parts.
func elections() results.Run {
	run := quickstart()
	run.Profile, run.Cells = "elections", nil
	for _, variant := range []string{"naive", "predecessor"} {
		for i, failover := range []string{"resign", "crash"} {
			c := cell(variant, 48, 1, 40/(1+19*float64(i)), 0)
			c.Workload, c.Objects, c.Fanout = "election", 12, nil
			c.Measured, c.Ownerless = ofElection, "nobody led"
			c.Parameters = map[string]any{"hold": "uniform 0s to 2s", "failover": failover}
			if failover == "crash" {
				c.Meanings = []results.Meaning{{Key: "failover", Caveat: "after a crash the hand-off is almost entirely the session timeout, which also determines the rate"}}
			}
			detect := 4.2 + 5000*float64(i)
			c.Latency = map[string]results.Latency{"campaign.response": c.Latency["acquire.response"], "elect.service": {Count: 24, P50: 2.1, Max: 9},
				"hand-off.service": {Count: 24, P50: detect + 2.1, Max: detect + 40}, "detect.service": {Count: 24, P50: detect, Max: detect + 31}}
			c.Done = map[string]int64{"campaign": c.Operations}
			c.Cost = map[string]float64{"ownerless_share": 0.0168 + 0.9*float64(i)}
			run.Cells = append(run.Cells, c)
		}
	}
	return run
}

// troubled is a run in which everything that the text can report has happened.
func troubled() results.Run {
	run := quickstart()
	run.Profile, run.Partial = "troubled", true
	run.Exit = results.Exit{Code: 4, Reason: "interrupted"}
	run.Notes = []string{"The servers and zkbench shared one machine."}
	run.Cells = []results.Cell{
		cell("naive", 100, 1, 55.3, 8.11), cell("naive", 100, 2, 57, 8), cell("naive", 100, 3, 50, 9.5),
		cell("predecessor", 100, 1, 77.9, 2.7), cell("predecessor", 100, 2, 78.2, 2.8), cell("predecessor", 100, 3, 12, 2.9),
		cell("go-zookeeper", 100, 1, 0.5, 4), cell("single-node", 100, 1, 70, 3),
	}
	bad, cut := &run.Cells[1], &run.Cells[5]
	bad.Checks[0] = results.Check{Name: "mutual-exclusion", Verdict: "violated", Evidence: 342, Count: 3, Detail: "two sessions held at once", Severity: "overlap",
		Overlap: "object 0: session 17 (token 4294967301) held it from 1203.412 ms to 1213.500 ms; session 42 (token 4294967302) held it from 1207.500 ms with no release " +
			"recorded. Both held it for 6.000 ms.",
		Witness: []results.WitnessSample{
			{Op: "acquire", Outcome: "ok", Session: 17, Token: 4294967301, Start: 1180, End: 1203.412},
			{Op: "acquire", Outcome: "ok", Session: 42, Token: 4294967302, Start: 1181, End: 1207.5},
			{Op: "release", Outcome: "ok", Session: 17, Start: 1213.5, End: 1215}}}
	bad.Checks[1] = results.Check{Name: "order", Verdict: "violated", Evidence: 342, Count: 1, Detail: "a later grant has the smaller token.",
		Witness: []results.WitnessSample{{Op: "acquire", Outcome: "ok", Session: 3, Object: 0, Token: 9, Due: 1, Start: 1, End: 2}}}
	cut.Partial, cut.ElapsedS = true, 1.25
	cut.Generator = results.Generator{Saturated: true, SaturatedReason: "it used 93 % of both cores"}
	cut.Notes = []string{"mntr of one server did not answer"}
	run.Cells[6].Checks = []results.Check{{Name: "mutual-exclusion", Verdict: "unknown", Evidence: 0, Detail: "fewer than two holds"}}
	run.Cells[6].Errors = map[string]int64{"timeout": 97, "lost": 2, "unfinished": 99}
	run.Cells[7].Checks, run.Cells[7].Fanout, run.Cells[7].Cost = nil, nil, nil
	run.Cells[7].Latency = map[string]results.Latency{"acquire.response": {Count: 3, P50: 1, Max: 2, Overflow: 1}}
	for i := range 2 {
		open := cell("predecessor", 5000, 1, 180+float64(i), 3)
		open.Fanout.TheoryPerRelease, open.Fanout.RatioToTheory = 0, 0
		open.Workload, open.Loop, open.RatePerS, open.OfferedPerS, open.Objects = "read-write", "open", 200, 200, 100
		if i == 1 {
			open.Variant = "naive"
		}
		run.Cells = append(run.Cells, open)
	}
	pool(&run)
	return run
}

func TestText(t *testing.T) {
	repeated := quickstart()
	for _, c := range repeated.Cells {
		c.Repetition, c.Throughput = 2, c.Throughput*1.1
		repeated.Cells = append(repeated.Cells, c)
	}
	pool(&repeated)
	for _, c := range []struct {
		file string
		run  results.Run
		look Look
	}{
		{"quickstart.txt", quickstart(), Look{}},
		{"quickstart-box.txt", quickstart(), Look{Box: true}},
		{"repeated.txt", repeated, Look{Box: true}},
		{"troubled.txt", troubled(), Look{}},
		{"queues.txt", queues(), Look{}},
		{"elections.txt", elections(), Look{}},
		{"narrow.txt", repeated, Look{Width: 80}},
		{"elections-narrow.txt", elections(), Look{Width: 80}},
		{"empty.txt", results.Run{Profile: "none", Environment: results.Environment{Servers: 1}}, Look{}},
	} {
		text := render(t, Text(Run(c.run), c.look))
		golden.Compare(t, c.file, text)
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > c.look.width() {
				t.Errorf("%s: wider than %d columns: %s", c.file, c.look.width(), line)
			}
			if !c.look.Box && strings.ContainsFunc(line, func(r rune) bool { return r > 126 }) {
				t.Errorf("%s: not ASCII: %s", c.file, line)
			}
			if strings.TrimRight(line, " \n")+"\n" != line {
				t.Errorf("%s: space at the end of %q", c.file, line)
			}
		}
	}
}

func TestMarkdown(t *testing.T) {
	golden.Compare(t, "quickstart.md", render(t, Markdown(Run(quickstart()))))
	golden.Compare(t, "troubled.md", render(t, Markdown(Run(troubled()))))
	golden.Compare(t, "queues.md", render(t, Markdown(Run(queues()))))
}

func TestJSONIsTheDocument(t *testing.T) {
	run := troubled()
	var again results.Run
	if err := json.Unmarshal([]byte(render(t, JSON(run))), &again); err != nil || !reflect.DeepEqual(run, again) {
		t.Errorf("JSON does not read back: %v", err)
	}
}

type fullDisk struct{}

var errFull = errors.New("disk full")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestEveryReportSaysThatItCouldNotBeWritten(t *testing.T) {
	for name, r := range map[string]Report{"Text": Text(Run(quickstart()), Look{}), "Markdown": Markdown(Run(quickstart())), "JSON": JSON(quickstart())} {
		if err := r(io.Writer(fullDisk{})); !errors.Is(err, errFull) {
			t.Errorf("%s = %v, want %v", name, err, errFull)
		}
	}
}

// A violation that only the transactions show has no overlap in time to report: the samples and their zxids are shown.
func TestAViolationByZxidShowsTheTransactions(t *testing.T) {
	got := strings.Join(violation("here", results.Check{Name: "mutual-exclusion", Verdict: "violated", Evidence: 2, Count: 1, Detail: "by luck",
		Witness: []results.WitnessSample{{Op: "acquire", Outcome: "ok", Session: 1, Zxid: 0x64, End: 1}, {Op: "release", Outcome: "ok", Session: 1, Zxid: 0x78, Start: 1, End: 2},
			{Op: "acquire", Outcome: "ok", Session: 2, Zxid: 0x6e, End: 3}, {Op: "release", Outcome: "ok", Session: 2, Zxid: 0x82, Start: 3, End: 4}}}), "\n")
	for _, want := range []string{"zxid 0x64", "zxid 0x78", "zxid 0x6e", "zxid 0x82"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
}
