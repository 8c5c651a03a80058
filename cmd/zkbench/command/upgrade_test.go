package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/versions"
	"github.com/zkbench/zkbench/internal/tier"
)

// home returns a directory that looks like the home of a ZooKeeper which nobody starts.
func home(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"zookeeper-" + version + ".jar", "lib/any.jar"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// An upgrade that cannot be done is refused with its place and a remedy, before anything is started.
func TestAnUpgradeThatIsImpossible(t *testing.T) {
	ensembletest.NeedServers(t)
	t.Setenv(versions.CacheVariable, t.TempDir())
	t.Setenv(versions.ListVariable, "")
	t.Setenv(versions.HomeVariable, "")
	old, new := home(t, "3.4.14"), home(t, "3.9.2")
	for _, c := range []struct {
		zookeeper, faults, flags, want string
	}{
		{new, "{at: 1s, kind: rolling-upgrade}", "", "mine.yaml:6:10: faults: required field to is missing (rolling-upgrade needs it)"},
		{new, "{at: 1s, kind: rolling-upgrade, to: 3.9}", "", "mine.yaml:6:46: faults: to: 3.9 is not a ZooKeeper"},
		{new, "{at: 1s, kind: rolling-upgrade, to: 3.4.13}", "", "mine.yaml:6:46: faults: rolling-upgrade to 3.4.13: no ZooKeeper found with version 3.4.13"},
		{new, "{at: 1s, kind: rolling-upgrade, to: 3.4.13}", "", "zookeeper fetch 3.4.13"},
		{new, "{at: 1s, kind: rolling-upgrade, to: /no/such/place}", "", "/no/such/place holds no zookeeper jar"},
		{new, "{at: 1s, kind: rolling-upgrade, to: " + old + "}", "", "ZooKeeper 3.4.14 cannot read the data of 3.9.2"},
		{old, "{at: 1s, kind: rolling-upgrade, to: " + new + "}, {at: 2s, kind: rolling-upgrade, to: " + old + "}", "", "ZooKeeper 3.4.14 cannot read the data of 3.9.2"},
		{new, "{at: 1s, kind: rolling-upgrade, to: " + new + "}", "", "the servers run " + new + " already (use rolling-restart, or name another version)"},
		{"3.9.2", "{at: 1s, kind: rolling-upgrade, to: 3.9.3}", "--ensemble compose:3", "rolling-upgrade cannot be injected on compose:3: its servers run the ZooKeeper of their image"},
		{"3.9.2", "{at: 1s, kind: rolling-upgrade, to: 3.9.3}", "--servers 127.0.0.1:1", "zkbench injects no faults into servers that somebody else runs"},
		{new, "{at: 1s, kind: rolling-upgrade, to: " + new + "}", "--set repetitions=2 --zookeeper " + old, "the next of 2 cells would start on other servers than the first"},
	} {
		profile := file(t, "mine.yaml", fmt.Sprintf("workload: lock\nvariants: [predecessor]\nsessions: 2\nduration: 5s\nzookeeper: %s\nfaults: [%s]\n", c.zookeeper, c.faults))
		zkbench(t, append([]string{"run", profile}, strings.Fields(c.flags)...)...).want(exitUsage, c.want)
	}
}

// Real servers are upgraded under locks and back, and from 3.4 as far as its data can be read. What was acknowledged is kept and every check holds. Only counts
// are asserted, because times depend on the machine: one that is too busy gets more time.
func TestUpgradesOfRealServers(t *testing.T) {
	tier.Long(t, "upgrades three servers three times; bench has the same in virtual time, and TestAnUpgradeThatIsImpossible what is refused")
	for _, version := range ensembletest.Versions() {
		ensembletest.NeedVersion(t, version)
	}
	for _, c := range []struct{ name, from, faults, end string }{
		{"3.8.0 to 3.9.3 and back", "3.8.0", "{at: 2s, kind: rolling-upgrade, to: 3.9.3}, {at: %ds, kind: rolling-upgrade, to: 3.8.0}", "3.8.0"},
		{"3.4.13 to 3.8.0", "3.4.13", "{at: 2s, kind: rolling-upgrade, to: 3.8.0}", "3.8.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, seconds := range []int{20, 80} {
				faults := c.faults
				if strings.Contains(faults, "%d") {
					faults = fmt.Sprintf(faults, seconds)
				}
				dir := filepath.Join(t.TempDir(), "out")
				o := zkbench(t, "run", "upgrade", "-q", "--zookeeper", c.from, "--set", "sessions=12", "--set", "locks=4", "--set", "rate=40/s", "--set", "session_timeout=20s",
					"--set", fmt.Sprintf("duration=%ds", 2*seconds), "--set", "faults=["+faults+"]", "--out", dir)
				if seconds == 20 && strings.Contains(o.stderr, "raise duration") {
					continue
				}
				o.wantEnd()
				doc := result(t, dir)
				if got := strings.Join(doc.Environment.ZooKeeperAtEnd, " "); doc.Environment.ZooKeeper != c.from || got != strings.TrimSpace(strings.Repeat(c.end+" ", 3)) {
					t.Errorf("ZooKeeper %s at the start, %q at the end; want %s and three times %s", doc.Environment.ZooKeeper, got, c.from, c.end)
				}
				for _, f := range doc.Cells[0].Faults {
					if f.Unplanned {
						continue
					}
					if f.Error != "" || len(f.Restarts) != 3 || f.SessionsMoved == nil || *f.SessionsMoved == 0 {
						t.Errorf("%+v", f)
					}
					for i, r := range f.Restarts {
						if r.HealedS == nil || r.Leader != (i == 2) || "to "+r.ZooKeeper != f.Target {
							t.Errorf("restart %d %s: %+v; want that it served again as that version, and that the leader was the last", i+1, f.Target, r)
						}
					}
				}
				for _, check := range doc.Cells[0].Checks {
					if check.Verdict == "violated" {
						t.Errorf("%s is violated: %s", check.Name, check.Detail)
					}
				}
				return
			}
		})
	}
}
