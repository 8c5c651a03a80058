package command

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/traffic"
)

func TestRecipesUnderLoadAreRecognized(t *testing.T) {
	tier.Long(t, "four loads of some seconds on a server of its own, with Curator and kazoo; TestTheReportIsWhatWasSent")
	ensembletest.NeedServers(t)
	dir := filepath.Join(t.TempDir(), "ensemble")
	e, err := local.Start(t.Context(), local.Config{Servers: 1, Dir: dir, Heap: "192m", NoFsync: true, JavaArgs: []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	locks, queues := out(t), out(t)
	variants := `variants=[predecessor, "driver:../../../drivers/curator/driver.sh", "driver:../../../drivers/kazoo/driver.py"]`
	o := zkbench(t, "run", "locks", "-q", "--servers", e.Addresses()[0], "--set", variants, "--set", "sessions=6", "--set", "warmup=1s", "--set", "duration=10s", "--set", "hold=100ms", "--out", locks)
	t.Log(o.code, o.stdout, o.stderr)
	variants = `variants=[fifo, claim, "driver:../../../drivers/curator/driver.sh", "driver:../../../drivers/kazoo/driver.py"]`
	o = zkbench(t, "run", "queues", "-q", "--servers", e.Addresses()[0], "--set", variants, "--set", "sessions=4", "--set", "warmup=1s", "--set", "duration=8s", "--set", "hold=50ms", "--set", "rate=20/s", "--set", "preload=100", "--set", "bound=0", "--set", "saturation=allowed", "--set", "drain=20s", "--out", queues)
	t.Log(o.code, o.stdout, o.stderr)
	for _, d := range []string{locks, queues} {
		r := result(t, d)
		details, err := results.ReadDetails(d)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range r.Cells {
			to := r.Finished
			if i+1 < len(r.Cells) {
				to = r.Cells[i+1].Started
			}
			doc, err := traffic.Analyze(t.Context(), []string{filepath.Join(dir, "server-1", "data")}, traffic.Options{Names: true, From: c.Started.Truncate(time.Millisecond), To: to})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %s +%v steady %+v", c.Variant, c.Started, to.Sub(c.Started), c.Steady)
			for k, v := range c.Latency {
				t.Logf("  %s %+v", k, v)
			}
			for _, k := range c.Checks {
				t.Logf("  %s %s %q %+v", k.Name, k.Verdict, k.Detail, k.Judges)
			}
			t.Logf("  done %v shares %+v depths %+v", c.Done, details[c.Name].Shares, details[c.Name].Depths)
			for _, x := range doc.Recipes {
				t.Logf("  -> %+v", x)
			}
		}
	}
}
