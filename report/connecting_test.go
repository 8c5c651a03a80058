package report

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// stormy is a run whose clients lost their connections once, without and with TLS.
func stormy() results.Run {
	ms := func(v float64) *float64 { return &v }
	n := func(v int) *int { return &v }
	connects := func(count int64, p50, longest float64) results.Latency {
		return results.Latency{Count: count, P50: p50, Max: longest}
	}
	cell := func(secure string, half, all float64, latency map[string]results.Latency) results.Cell {
		latency["acquire.response"] = results.Latency{Count: 100, P50: 1, Max: 2}
		return results.Cell{Workload: "lock", Variant: "predecessor", Measured: ofLock, Sessions: 60, Objects: 1, Repetition: 1, Loop: "open", RatePerS: 20, ElapsedS: 10, Operations: 100,
			Parameters: map[string]any{"secure": secure}, Meanings: []results.Meaning{{Key: "secure", Role: results.RoleOption}}, Latency: latency,
			Faults: []results.Fault{{Kind: "reset", AtS: 3, SessionsCut: n(60), BackHalf: ms(half), Back99: ms(all), BackAll: ms(all), Handshakes: n(61)},
				{Kind: "expire", AtS: 5, SessionsCut: n(0)}}}
	}
	return results.Run{Profile: "storm", Environment: results.Environment{Servers: 3, Ensemble: "local"},
		Environments: []results.Environment{{Servers: 3, Ensemble: "local"}, {Servers: 3, Ensemble: "local"}},
		Cells: []results.Cell{
			cell("none", 68, 81, map[string]results.Latency{"connect-tcp.service": connects(60, 0.2, 1), "connect-session.service": connects(60, 16, 40)}),
			cell("tls-resumed", 2100, 2600, map[string]results.Latency{"connect-tcp.service": connects(60, 0.2, 1), "connect-tls.service": connects(10, 150, 300),
				"connect-tls-resumed.service": connects(50, 46, 90), "connect-session.service": connects(60, 34, 80)}),
		}}
}

// The cost of reconnecting is in one table, one line for each fault that disconnected clients, and the duration of connections in another.
func TestReconnections(t *testing.T) {
	var text strings.Builder
	if err := Text(Run(stormy()), Look{Width: 100})(&text); err != nil {
		t.Fatal(err)
	}
	squeezed := strings.Join(strings.Fields(text.String()), " ")
	for _, want := range []string{
		"2 ensembles of 3 servers (local), one after the other",
		"predecessor secure=none reset 60 68 81 81 0 predecessor secure=tls-resumed reset 60 2100 2600 2600 0 Connections that",
		"predecessor secure=none TCP 60 0.20 1 predecessor secure=none session 60 16 40",
		"predecessor secure=tls-resumed TLS, full handshake 10 150 300 predecessor secure=tls-resumed TLS, resumed 50 46 90",
	} {
		if !strings.Contains(squeezed, want) {
			t.Errorf("the report does not say %q:\n%s", want, text.String())
		}
	}
	if n := len(reconnections(workloads(rowsOf(quickstart()))[0])); n != 0 {
		t.Errorf("a run without lost connections has %d such tables", n)
	}
}
