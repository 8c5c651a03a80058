package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/versions"
	"github.com/zkbench/zkbench/internal/tier"
)

// A ZooKeeper that cannot be had is reported with its place and a remedy, before anything is started.
func TestAVersionThatIsNotHere(t *testing.T) {
	ensembletest.NeedServers(t)
	t.Setenv(versions.CacheVariable, t.TempDir())
	t.Setenv(versions.ListVariable, "")
	zkbench(t, "zookeeper", "list").want(exitOK, "used without --zookeeper", "zookeeper fetch 3.4.13")
	zkbench(t, "zookeeper").want(exitUsage, "zookeeper fetch 3.9.3")
	zkbench(t, "zookeeper", "fetch", "3.7.0").want(exitFailed, "3.4.13, 3.8.0, 3.9.3")
	profile := file(t, "mine.yaml", "workload: lock\nvariants: [predecessor]\nsessions: 2\nzookeeper: [3.4.13]\n")
	zkbench(t, "run", profile).want(exitUsage, "mine.yaml:4:", "no ZooKeeper found with version 3.4.13", "zookeeper fetch 3.4.13")
	zkbench(t, "run", profile, "--zookeeper", "3.9").want(exitUsage, "--set zookeeper", "3.9 is not a ZooKeeper", "such as 3.9.3")
	zkbench(t, "run", profile, "--zookeeper", "/no/such/place").want(exitUsage, "/no/such/place holds no zookeeper jar")
	zkbench(t, "run", profile, "--servers", "127.0.0.1:1", "--zookeeper", "/no/such/place").want(exitUsage, "running servers have their own ZooKeeper")
	zkbench(t, "run", profile, "--servers", "127.0.0.1:1", "--zookeeper", "[3.8.0,3.9.3]").want(exitUsage, "the profile starts 2 ensembles")
	zkbench(t, "capacity", profile, "--goal", "p99<50ms", "--set", "rate=10/s").want(exitUsage, "zookeeper fetch 3.4.13")
	zkbench(t, "ab", "--a", profile, "--b", profile, "--a-zookeeper", "3.4.13").want(exitUsage, "zookeeper fetch 3.4.13")
	zkbench(t, "up", "--zookeeper", "3.0.1").want(exitUsage, "--zookeeper: no ZooKeeper found with version 3.0.1", versions.ListVariable)
	zkbench(t, "calibrate", "--zookeeper", "3.0.1").want(exitUsage, "--zookeeper: no ZooKeeper found with version 3.0.1")
}

// One run on two versions, each with an ensemble, and one comparison of them.
func TestVersionsSideBySide(t *testing.T) {
	tier.Long(t, "fetches two versions from Debian's archive and starts four ensembles; TestAVersionThatIsNotHere reads the same flags")
	ensembletest.NeedVersion(t, "3.8.0")
	ensembletest.NeedVersion(t, "3.9.3")
	dir := filepath.Join(t.TempDir(), "out")
	load := []string{"--set", "ensemble=local:1", "--set", "variants=predecessor", "--set", "sessions=4", "--set", "warmup=0s", "--set", "duration=1s"}
	zkbench(t, append([]string{"run", "quickstart", "-q", "--zookeeper", "[3.8.0,3.9.3]", "--out", dir}, load...)...).wantEnd()
	doc := result(t, dir)
	if len(doc.Cells) != 2 || len(doc.Environments) != 2 {
		t.Fatalf("%d cells on %d ensembles, want one on each of two", len(doc.Cells), len(doc.Environments))
	}
	for i, want := range []string{"3.8.0", "3.9.3"} {
		env := doc.Environments[i]
		if env.ZooKeeper != want || env.ZooKeeperAsked != want || env.Java == "" || doc.Cells[i].Environment != i || doc.Cells[i].Parameters["zookeeper"] != want {
			t.Errorf("cell %d: %v on ensemble %d; the ensemble has ZooKeeper %q, asked for %q, Java %q; want %s", i, doc.Cells[i].Parameters, doc.Cells[i].Environment,
				env.ZooKeeper, env.ZooKeeperAsked, env.Java, want)
		}
	}
	zkbench(t, "validate-result", dir).want(exitOK)

	var sides []string
	for _, set := range load {
		if set != "--set" {
			sides = append(sides, "--a-set", set, "--b-set", set)
		}
	}
	dir = filepath.Join(t.TempDir(), "ab")
	o := zkbench(t, append([]string{"ab", "-q", "--a", "quickstart", "--b", "quickstart", "--a-zookeeper", "3.8.0", "--b-zookeeper", "3.9.3", "--pairs", "1", "--out", dir}, sides...)...)
	for side, want := range map[string]string{"a": "3.8.0", "b": "3.9.3"} {
		found, _ := filepath.Glob(filepath.Join(dir, "pair-*", side))
		if len(found) == 0 {
			entries, _ := os.ReadDir(dir)
			t.Fatalf("no run of side %s in %v: %s", side, entries, o.stderr)
		}
		if env := result(t, found[0]).Environment; env.ZooKeeper != want || env.ZooKeeperAsked != want {
			t.Errorf("side %s ran on %s, asked for %s, want %s", side, env.ZooKeeper, env.ZooKeeperAsked, want)
		}
	}
	if !strings.Contains(strings.Join(strings.Fields(o.stdout), " "), "with ZooKeeper 3.9.3") {
		t.Errorf("the report does not say which side had which version:\n%s", o.stdout)
	}
}
