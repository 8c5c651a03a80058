package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

func paperCell(environment, sessions int, mix string, perSecond float64, creates int64) results.Cell {
	return results.Cell{Workload: "operations", Variant: "persistent", Environment: environment, Sessions: sessions, ElapsedS: 10, Throughput: perSecond, Loop: "closed",
		Parameters: map[string]any{"mix": mix, "ensemble": fmt.Sprint(environment)}, Done: map[string]int64{"create": creates},
		Measured: measured("create"), Counted: []string{"create"}}
}

// disturbed returns a cell during which other processes used 40 % of the CPU time.
func disturbed(c results.Cell) results.Cell {
	c.Machine = &results.Machine{Seconds: 10, CPUs: 2, Others: 8}
	return c
}

func barrierCell(clients, barriers int, seconds float64) results.Cell {
	return results.Cell{Workload: "double-barrier", Variant: "mine", Sessions: clients, ElapsedS: seconds, Throughput: 10, Loop: "closed",
		Parameters: map[string]any{"barriers": barriers}, Meanings: []results.Meaning{{Key: "barriers", Role: results.RoleAmount, Unit: "barrier"}}, Done: map[string]int64{"round": 10}, Measured: measured("round"), Counted: []string{"round"}}
}

// The report of a profile that repeats a table of the paper shows the paper's figures next to those of the run, and says whether the shape
// is the same.
func TestBesideThePaper(t *testing.T) {
	local := []results.Environment{{Servers: 3, Ensemble: "local"}}
	threeSizes := []results.Environment{{Servers: 3, Ensemble: "local"}, {Servers: 5, Ensemble: "local"}, {Servers: 7, Ensemble: "local"}}
	elsewhere := []results.Environment{{Servers: 3}, {Servers: 5}}
	extremes := func(rates ...float64) (cells []results.Cell) {
		for i := 0; i < len(rates); i += 2 {
			cells = append(cells, paperCell(i/2, 50, "set 100", rates[i], 0), paperCell(i/2, 50, "get 100", rates[i+1], 0))
		}
		return cells
	}
	for _, tc := range []struct {
		name    string
		profile string
		there   []results.Environment
		cells   []results.Cell
		rows    [][]string
		has     []string
		not     string
	}{
		{"one size", "paper-throughput", local, []results.Cell{paperCell(0, 50, "set 100", 5000, 0), paperCell(0, 50, "get 50, set 50", 8000, 0), paperCell(0, 50, "get 100", 20000, 0)},
			[][]string{{"3", "21000", "5000", "87000", "20000", "4.1", "4"}}, []string{"As in the paper the throughput", "--set ensemble=[3,5,7]", "share the cores"}, "Unlike"},
		{"less with more reads", "paper-throughput", []results.Environment{{Servers: 5}}, []results.Cell{paperCell(0, 50, "set 100", 5000, 0), paperCell(0, 50, "get 50, set 50", 4000, 0),
			paperCell(0, 50, "get 100", 20000, 0)}, [][]string{{"5", "18000", "5000", "165000", "20000", "9.2", "4"}},
			[]string{"with 5 servers it falls, from 5000/s at 0 % to 4000/s at 50 %"}, "share the cores"},
		{"three sizes, writes fall", "paper-throughput", threeSizes, extremes(5000, 20000, 4000, 18000, 3000, 16000),
			[][]string{{"3", "21000", "5000", "87000", "20000", "4.1", "4"}, {"5", "18000", "4000", "165000", "18000", "9.2", "4.5"}, {"7", "14000", "3000", "257000", "16000", "18", "5.3"}},
			[]string{"As in the paper writes of this run fall with the number of servers: 5000/s with 3 servers, 4000/s with 5 servers, 3000/s with 7 servers",
				"In this run they were 20000/s with 3 servers, 18000/s with 5 servers, 16000/s with 7 servers: servers that share the cores of one machine cannot show it"}, "Unlike"},
		{"writes that rise", "paper-throughput", threeSizes, extremes(5000, 20000, 6000, 18000), [][]string{{"3", "21000", "5000", "87000", "20000", "4.1", "4"},
			{"5", "18000", "6000", "165000", "18000", "9.2", "3"}}, []string{"Unlike in the paper writes of this run do not always fall"}, "As in the paper writes"},
		{"machines of their own: reads rise", "paper-throughput", elsewhere, extremes(5000, 20000, 4000, 30000), [][]string{{"3", "21000", "5000", "87000", "20000", "4.1", "4"},
			{"5", "18000", "4000", "165000", "30000", "9.2", "7.5"}}, []string{"As in the paper reads of this run rise"}, "share the cores"},
		{"machines of their own: reads fall", "paper-throughput", elsewhere, extremes(5000, 20000, 4000, 10000), [][]string{{"3", "21000", "5000", "87000", "20000", "4.1", "4"},
			{"5", "18000", "4000", "165000", "10000", "9.2", "2.5"}}, []string{"Unlike in the paper reads of this run do not always rise"}, "share the cores"},
		{"creates", "paper-creates", local, []results.Cell{paperCell(0, 1, "create 50, delete 50", 0, 4000), paperCell(0, 10, "create 50, delete 50", 0, 9000)},
			[][]string{{"3", "1", "776", "400"}, {"3", "10", "2074", "900"}}, []string{"As in the paper more workers"}, "Unlike"},
		{"fewer creates of more workers", "paper-creates", local, []results.Cell{paperCell(0, 1, "create 50, delete 50", 0, 9000), paperCell(0, 10, "create 50, delete 50", 0, 4000)},
			[][]string{{"3", "1", "776", "900"}, {"3", "10", "2074", "400"}}, []string{"Unlike in the paper"}, ""},
		{"creates by servers", "paper-creates", threeSizes, []results.Cell{paperCell(1, 1, "create 50, delete 50", 0, 4000), paperCell(0, 1, "create 50, delete 50", 0, 9000)},
			[][]string{{"3", "1", "776", "900"}, {"5", "1", "748", "400"}}, []string{"As in the paper creates of 1 worker of this run fall with the number of servers"}, "Unlike"},
		{"barriers", "double-barriers", local, []results.Cell{barrierCell(50, 200, 10), barrierCell(50, 400, 25), barrierCell(7, 200, 3)},
			[][]string{{"mine", "7", "-", "3.00", "-", "-", "-", "-", "-", "-"}, {"mine", "50", "9.4", "10.0", "16.4", "25.0", "28.9", "-", "54", "-"}},
			[]string{"1950 to 3100 times a second; here 930 to 2000 times"}, ""},
		{"a busy machine", "paper-creates", local, []results.Cell{paperCell(0, 1, "create 50, delete 50", 0, 4000), disturbed(paperCell(0, 10, "create 50, delete 50", 0, 9000))},
			[][]string{{"3", "1", "776", "400"}, {"3", "10", "2074", "900"}}, []string{"used up to 40 % of this machine's CPU time", "the shape is not judged"}, "As in the paper"},
		{"another profile", "operations", local, []results.Cell{paperCell(0, 1, "create 50, delete 50", 0, 9000)}, nil, nil, "paper"},
	} {
		run := results.Run{Profile: tc.profile, Environment: tc.there[0], Cells: tc.cells}
		if len(tc.there) > 1 {
			run.Environments = tc.there
		}
		p := besidePaper(run)
		text := p.caption + " " + strings.Join(p.sentences, " ")
		for _, want := range tc.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q does not say %q", tc.name, text, want)
			}
		}
		if tc.not != "" && strings.Contains(text, tc.not) {
			t.Errorf("%s: %q says %q", tc.name, text, tc.not)
		}
		if !slices.EqualFunc(p.table.rows, tc.rows, slices.Equal) {
			t.Errorf("%s: rows %q, want %q", tc.name, p.table.rows, tc.rows)
		}
	}
}
