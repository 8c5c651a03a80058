package command

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/results"
)

// Three processes search and compare on real servers, meet on another server, and end with one answer.
func TestThreeProcessesSearchAndCompare(t *testing.T) {
	tier.Long(t, "a search and a comparison of three processes; TestTwoProcessesAreOneRun has a run of two")
	t.Parallel()
	under, differing := servers.Get(t, 1).Addresses()[0], ensembletest.Start(t, 1).Addresses()[0]
	profile := small(t, "sessions: 6", "rate: 30", "saturation: allowed")
	closed := small(t, "sessions: 6", "duration: 500ms")
	for name, args := range map[string][]string{
		"search": {"capacity", profile, "--goal", "p50<1us", "--from", "30", "--block", "500ms", "--budget", "30s"}, // no load meets this goal
		"compare": {"ab", "--a", closed, "--b", closed, "--b-set", "hold=3ms", "--pairs", "2", "--metric", "throughput", "--metric", "hand-off.service.p50",
			"--metric", "ownerless_share"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var ends [3]ending
			var wait sync.WaitGroup
			for i := range ends {
				wait.Go(func() {
					ends[i] = inChild(t, "plain", "", append(slices.Clip(args), "--servers", under, "--share", fmt.Sprintf("%d/3", i+1), "--meet", "zk://"+differing+"/"+name,
						"--out", filepath.Join(dir, fmt.Sprint(i+1)))...)
				})
			}
			wait.Wait()
			var answers, sums []string
			sum := regexp.MustCompile("SHA-256 ([0-9a-f]{64})")
			for i, end := range ends {
				end.want(exitUnknown) // no capacity; too few pairs
				found := sum.FindStringSubmatch(end.stderr)
				if found == nil {
					t.Fatalf("share %d tells no answer: %s", i+1, end.stderr)
				}
				sums = append(sums, found[1])
				d, err := results.ReadDocument(filepath.Join(dir, fmt.Sprint(i+1)))
				if err != nil {
					t.Fatal(err)
				}
				if d.Capacity != nil {
					d.Capacity.Command = nil
				}
				answer, err := json.Marshal(struct {
					Capacity   *results.Capacity
					Comparison *results.Comparison
				}{d.Capacity, d.Comparison})
				if err != nil {
					t.Fatal(err)
				}
				answers = append(answers, string(answer))
			}
			if len(slices.Compact(answers)) != 1 || len(slices.Compact(sums)) != 1 {
				t.Errorf("the shares end with %s and %v", strings.Join(answers, "\n"), sums)
			}
			if !strings.Contains(ends[0].stderr, "all 3 shares have the same answer") {
				t.Errorf("the first share says %s", ends[0].stderr)
			}
			loads, err := filepath.Glob(filepath.Join(dir, "1", map[string]string{"search": "probe-0?", "compare": "pair-0?/?"}[name]))
			if err != nil || len(loads) == 0 {
				t.Fatalf("the first share has no loads: %v", err)
			}
			for _, load := range loads {
				zkbench(t, "validate-result", load).want(exitOK, "consistent")
				run := result(t, load)
				if len(run.Shares) != 3 || len(run.Cells) != 1 || len(run.Cells[0].Shares) != 3 || run.Cells[0].Operations == 0 {
					t.Errorf("%s is of %d shares", load, len(run.Shares))
				}
			}
		})
	}
}
