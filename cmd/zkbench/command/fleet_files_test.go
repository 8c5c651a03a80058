package command

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/internal/golden"
)

// The files in compose/ are what the command prints, except for the names of the runs. The API server's own code reads those of Kubernetes in
// compose/kubernetes.
func TestTheFilesOfFleetsAreWhatIsPrinted(t *testing.T) {
	load := []string{"locks", "--shares", "3", "--servers", "zk1:2181,zk2:2181,zk3:2181"}
	for file, args := range map[string][]string{
		"compose/fleet/swarm.yml":      append([]string{"swarm"}, load...),
		"compose/fleet/slurm.sh":       append([]string{"slurm", "--meet", "zk://coord:2181/bench"}, load...),
		"compose/fleet/kubernetes.yml": append([]string{"kubernetes", "--claim", "results"}, load...),
		"compose/kubernetes/testdata/shipped.yml": {"kubernetes", small(t, "name: A_profile-of-the-longest-name.that-a-pod-can-have-1234", "sessions: 1000"), "--shares", "1000",
			"--servers", "zk1:2181", "--meet", "zk://coord:2181/bench", "--ship", "https://store/runs/?signature=$$(c)", "--cpus", "0.5", "--memory", "512Mi", "--set", "description=costs $5"},
		"compose/kubernetes/testdata/search.yml": {"kubernetes", "--shares", "3", "--servers", "zk1:2181", "--claim", "results", "--", "capacity", "locks-open", "--goal", "p99<50ms"},
	} {
		got := zkbench(t, append([]string{"fleet"}, args...)...).want(exitOK).stdout
		if run := regexp.MustCompile(`-(\d{8}T\d{6}\.\d{3})-([a-z2-7]{6})\b`).FindStringSubmatch(got); run != nil {
			got = strings.NewReplacer(run[1], "20260101T000000.000", "-"+run[2], "-abcdef").Replace(got)
		}
		got = regexp.MustCompile(`(zkbench-[a-z0-9-]+)-[a-z2-7]{6}(-coordinator)?\b`).ReplaceAllString(got, "$1-abcdef$2")
		golden.Compare(t, filepath.Join("../../../..", file), got)
	}
}
