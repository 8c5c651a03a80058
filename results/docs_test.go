package results

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/capacity"
)

// docs/results.md describes every field of the documents and of timeline.jsonl, every key of cost, and no others.
func TestFieldsAreDescribed(t *testing.T) {
	text, err := os.ReadFile("../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	described := func(heading string) (names []string) {
		_, section, found := strings.Cut(string(text), "\n### "+heading+"\n")
		if !found {
			t.Errorf("docs/results.md has no section %s", heading)
		}
		section, _, _ = strings.Cut(section, "\n#")
		for line := range strings.Lines(section) {
			cell, isRow := strings.CutPrefix(line, "| `")
			if !isRow {
				continue
			}
			cell, _, _ = strings.Cut(cell, " |")
			names = append(names, strings.Split(strings.ReplaceAll(cell, "`", ""), ", ")...)
		}
		slices.Sort(names)
		return names
	}
	for heading, typ := range map[string]reflect.Type{
		"`run.json`": reflect.TypeFor[Run](), "`connecting`": reflect.TypeFor[Connecting](), "`environment`": reflect.TypeFor[Environment](), "`cells`": reflect.TypeFor[Cell](), "`shares`": reflect.TypeFor[RunShare](), "`shares` of `cells`": reflect.TypeFor[CellShare](),
		"`calibration` of `environment`": reflect.TypeFor[Calibrated](), "`trust`": reflect.TypeFor[Trust](), "`own_share`": reflect.TypeFor[OwnShare](),
		"`gates`": reflect.TypeFor[Gate](), "`cells` of `gates`": reflect.TypeFor[GateCell](), "`pauses`": reflect.TypeFor[Pauses](), "`measured`": reflect.TypeFor[Measure](), "`steady`": reflect.TypeFor[Steady](), "`scope`": reflect.TypeFor[Scope](), "`pools`": reflect.TypeFor[Pool](),
		"`latency_ms`": reflect.TypeFor[Latency](), "`fanout`": reflect.TypeFor[Fanout](), "`cost_per_success`": reflect.TypeFor[Cost](),
		"`generator`": reflect.TypeFor[Generator](), "`checks`": reflect.TypeFor[Check](), "`witness`": reflect.TypeFor[WitnessSample](),
		"`meanings`": reflect.TypeFor[Meaning](), "`judges`": reflect.TypeFor[Judge](), "`driver`": reflect.TypeFor[Driver](), "`faults`": reflect.TypeFor[Fault](), "`findings`": reflect.TypeFor[Finding](),
		"`fencing`": reflect.TypeFor[Fencing](), "`exit`": reflect.TypeFor[Exit](), "`timeline.jsonl`": reflect.TypeFor[Second](),
		"`comparison.json`": reflect.TypeFor[Comparison](), "`baseline` and `candidate` of `comparison.json`": reflect.TypeFor[Side](),
		"`environment_differences` of `comparison.json`": reflect.TypeFor[Differing](), "`cells` of `comparison.json`": reflect.TypeFor[CellComparison](),
		"`baseline` and `candidate` of a cell of `comparison.json`": reflect.TypeFor[CellSide](), "`metrics` of `comparison.json`": reflect.TypeFor[MetricComparison](),
		"values of `comparison.json`": reflect.TypeFor[MetricValues](),
		"`zkbench.trend/1`":           reflect.TypeFor[Trend](), "`runs` of `zkbench.trend/1`": reflect.TypeFor[TrendRun](),
		"`series` of `zkbench.trend/1`": reflect.TypeFor[Series](), "`changes` of `zkbench.trend/1`": reflect.TypeFor[TrendChange](),
		"`fault` of `timeline.jsonl`": reflect.TypeFor[FaultEvent](), "`leader` of `timeline.jsonl`": reflect.TypeFor[LeaderEvent](),
		"`details.jsonl`": reflect.TypeFor[Details](), "`opening` of `details.jsonl`": reflect.TypeFor[Opening](), "`cohorts` of `details.jsonl`": reflect.TypeFor[Cohort](),
		"`places` of `details.jsonl`": reflect.TypeFor[Place](), "`overtaken` of `details.jsonl`": reflect.TypeFor[Overtaken](), "`shares` of `details.jsonl`": reflect.TypeFor[Portion](),
		"`strips` of `details.jsonl`": reflect.TypeFor[Strip](), "`holds` and `waits` of `details.jsonl`": reflect.TypeFor[Tenure](),
		"`idle` of `details.jsonl`": reflect.TypeFor[Stretch](), "`depths` of `details.jsonl`": reflect.TypeFor[Depth](),
		"`queues` of `details.jsonl`": reflect.TypeFor[Queue](), "`leaderless` of `details.jsonl`": reflect.TypeFor[Vacancy](),
		"`fidelity`":                    reflect.TypeFor[Fidelity](),
		"`arrivals` of `details.jsonl`": reflect.TypeFor[Curve](), "`ranks` of `details.jsonl`": reflect.TypeFor[Rank](),
		"`zkbench.capacity/1`": reflect.TypeFor[Capacity](), "`probes` of `zkbench.capacity/1`": reflect.TypeFor[CapacityProbe](), "`curve` of `zkbench.capacity/1`": reflect.TypeFor[CriticalLoad](),
		"`blocks` of `zkbench.capacity/1`": reflect.TypeFor[capacity.Block](),
	} {
		var fields []string
		for _, field := range reflect.VisibleFields(typ) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name != "-" && !field.Anonymous {
				fields = append(fields, name)
			}
		}
		slices.Sort(fields)
		if got := described(heading); !slices.Equal(got, fields) {
			t.Errorf("docs/results.md describes in %s\n%q\nthe code has\n%q", heading, got, fields)
		}
	}
	keys := append(slices.Clone(requestKinds), otherCosts...)
	slices.Sort(keys)
	if got := described("`cost`"); !slices.Equal(got, keys) {
		t.Errorf("docs/results.md describes in cost\n%q\nthe code knows\n%q", got, keys)
	}
}
