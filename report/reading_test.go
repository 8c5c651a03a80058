package report

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/docs"
	"github.com/zkbench/zkbench/results"
)

// Every head of a table is explained.
func TestEveryHeadIsExplained(t *testing.T) {
	for _, run := range []results.Run{quickstart(), queues(), elections(), troubled(), overloaded(), faulty(), stormy()} {
		for _, group := range workloads(rowsOf(run)) {
			for _, table := range []table{tableOf(group), costsOf(group), sidesOf(group), clientsOf(group), faultsOf(group), secondsOf(group), fanoutOf(group), stormsOf(group), reconnectingOf(group), connectingOf(group)} {
				for i := range table.below {
					for _, head := range []string{table.above[i], table.below[i]} {
						if head != "" && len(docs.Explain(head)) == 0 {
							t.Errorf("docs/reading.md does not explain %q", head)
						}
					}
				}
			}
		}
	}
	compared := results.CellComparison{Metrics: []results.MetricComparison{{Metric: "throughput"}}}
	for _, table := range []table{tableOfMetrics(compared, true), tableOfMetrics(compared, false), probesOf(results.Capacity{}), changesOf()} {
		for _, head := range table.below {
			if len(docs.Explain(head)) == 0 {
				t.Errorf("docs/reading.md does not explain %q", head)
			}
		}
	}
	for verdict := range strings.FieldsSeq("holds violated unknown REGRESSION IMPROVEMENT EQUIVALENT INCONCLUSIVE") {
		if len(docs.Explain(verdict)) != 1 {
			t.Errorf("docs/reading.md does not explain the verdict %s", verdict)
		}
	}
}
