package page

import (
	"regexp"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/internal/golden"
)

// which matches the workload, the cell and the number of a plot in its id.
var which = regexp.MustCompile(`(-(lock|queue|read-write|election|barrier|[0-9]+))+$`)

// Each kind of plot must match its golden file; 'go test ./report/page -run Golden -update' rewrites the files.
func TestGoldenPlots(t *testing.T) {
	kinds := map[string]bool{}
	all := sources(t)
	runs := everyPlot(t)
	all["run"], all["run of others"] = runs[0], runs[1]
	for _, name := range sortedKeys(all) {
		for _, figure := range strings.Split(write(t, all[name]), `<figure id="`)[1:] {
			id, _, _ := strings.Cut(figure, `"`)
			kind := which.ReplaceAllString(id, "")
			if strings.HasPrefix(id, "ownership") && strings.Contains(figure, "violated?") {
				kind = "counterexample"
			}
			if kinds[kind] {
				continue
			}
			kinds[kind] = true
			_, svg, _ := strings.Cut(figure, "<svg")
			svg, _, _ = strings.Cut(svg, "</svg>")
			golden.Compare(t, kind+".svg", "<svg"+strings.ReplaceAll(svg, "/><", "/>\n<")+"</svg>\n")
		}
	}
	for _, kind := range strings.Fields(`throughput response rate events children bytes hand-off idle places overtakes shares spectrum heat phases ownership counterexample depth age depth-each age-each
		leaderless arrivals-pass		servers-log_flush_mean_ms servers-outstanding servers-cpu_s servers-requests opening connecting forest trend probes writes sizes holds`) {
		if !kinds[kind] {
			t.Errorf("the made-up documents have no plot %s", kind)
		}
		delete(kinds, kind)
	}
	if len(kinds) > 0 {
		t.Errorf("plots that nobody expects: %q", sortedKeys(kinds))
	}
}
