package report

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/docs"
	"github.com/zkbench/zkbench/results"
)

// beset is a run with storms of each kind.
func beset() results.Run {
	run := faulty()
	of := func(v float64) *float64 { return &v }
	count := func(n int) *int { return &n }
	bytes := func(n int64) *int64 { return &n }
	all := func(n int) *results.Arrivals {
		return &results.Arrivals{Due: n, Came: n, First: of(11), Half: of(52), P99: of(98), All: of(99)}
	}
	some := &results.Responses{Count: 800, P50: of(6), P99: of(72), Max: of(90)}
	unserved := &results.Responses{Count: 800, Unserved: 3, P50: of(6), P99: of(72), Max: of(90)}
	few := &results.Responses{Count: 40, P50: of(5), Max: of(45)}
	run.Cells[0].Faults = []results.Fault{
		{Kind: "reset", AtS: 3, LongestPause: of(33), SessionsCut: count(300), BackHalf: of(41), Back99: of(190), BackAll: of(210),
			Handshakes: count(302), Reconnecting: &results.Reconnection{Requests: 911, Watches: 12, Events: 5, SentBytes: bytes(2048), ReceivedBytes: bytes(4096)},
			Bystanders: &results.Bystanders{During: *few, Before: *some}},
		{Kind: "mass-expiry", AtS: 6, LongestPause: of(4300), PauseBefore: of(2400), Bystanders: &results.Bystanders{During: *unserved, Before: *some},
			Storm: &results.Storm{Sessions: 200, Watchers: 10, Expired: count(200), Gone: all(4000), Notified: all(40000),
				Cost: results.StormCost{Events: 40000, SentBytes: bytes(120), ReceivedBytes: bytes(4_200_000)}}},
		{Kind: "read-storm", AtS: 16, LongestPause: of(100), Bystanders: &results.Bystanders{Before: *some},
			Storm: &results.Storm{Sessions: 500, Notified: all(500), Read: &results.Arrivals{Due: 500, Came: 260, First: of(80), Half: of(300)},
				Cost: results.StormCost{Requests: 10501, Events: 500, ReadBytes: 10_000_000}}},
	}
	return run
}

// Each storm has a line for each of its consequences, one for the load during it, and a sentence; every head is explained.
func TestStormsInAReport(t *testing.T) {
	run := beset()
	text := strings.Join(strings.Fields(render(t, Text(Run(run), Look{Width: 200}))), " ")
	for _, want := range []string{
		"gone 4000 4000 11 52 98 99", "notified 40000 40000 11 52 98 99", "read 500 260 80 300 - -",
		"302 12 911 5 2.00 4.00", "40 5.0 - 45 800 6.0 72 90", "0 - - - 800 6.0 72 90", "800 >=6.0 >=72 >=90 800 6.0 72 90",
		"300 clients lost their connection, half were back after 41 ms, 99 % after 190 ms, all after 210 ms, with 302 handshakes; until then the load's sessions sent 911 requests (12 setWatches), " +
			"2 KiB, and received 4 KiB; the longest response of 40 grants due meanwhile was 45 ms, and before it, of 800, 90 ms.",
		"200 sessions were lost, 200 expired: 4000 ephemeral znodes, half were gone after 52 ms, 99 % after 98 ms, all after 99 ms, and 40000 events to 10 watchers, half were delivered after 52 ms",
		"cost: 0 requests and 40000 events, 120 bytes sent and 4 MiB received; of 800 grants due meanwhile the p99 of the response was at least 72 ms, and before it 72 ms.",
		"500 readers, half were notified after 52 ms, 99 % after 98 ms, all after 99 ms, half were done reading after 300 ms, 99 % were not done reading; " +
			"cost: 10501 requests and 500 events, 9.5 MiB of data read; no grant was due meanwhile.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q:\n%s", want, text)
		}
	}
	reads := beset()
	reads.Cells[0].Faults = reads.Cells[0].Faults[2:]
	if got := arrivalsCaption(workloads(rowsOf(reads))[0]); strings.Contains(got, "gone:") || !strings.Contains(got, "notified: events that reached a watcher; read: sessions") {
		t.Errorf("of a read storm alone: %q", got)
	}
	group := workloads(rowsOf(run))[0]
	tables := stormTables(group)
	if len(tables) != 2 || len(stormTables(workloads(rowsOf(quickstart()))[0])) != 0 {
		t.Fatalf("%d tables", len(tables))
	}
	for _, table := range tables {
		for i := range table.below {
			for _, head := range []string{table.above[i], table.below[i]} {
				if head != "" && len(docs.Explain(head)) == 0 {
					t.Errorf("docs/reading.md does not explain %q", head)
				}
			}
		}
	}
	shown := 0
	for _, part := range Run(run).Sections()[0].Parts {
		if len(part.Table().Rows) > 0 {
			shown++
		}
	}
	for name, table := range map[string]int{"Markdown": strings.Count(render(t, Markdown(Run(run))), "| notified |"), "Sections": shown} {
		if want := map[string]int{"Markdown": 2, "Sections": 7}[name]; table != want {
			t.Errorf("%s: %d, want %d", name, table, want)
		}
	}
}
