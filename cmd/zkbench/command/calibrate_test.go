package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/cmd/zkbench/internal/calibrate"
	"github.com/zkbench/zkbench/results"
)

func TestCalibrate(t *testing.T) {
	address := servers.Get(t, 1).Addresses()[0]
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	short := []string{"calibrate", "--servers", address, "--dir", t.TempDir(), "--for", "100ms", "--runs", "3", "--sessions", "4", "-q"}
	o := zkbench(t, append(short, "--pairs", "6", "--json")...).want(exitOK)
	var doc results.Calibration
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || doc.Schema != results.CalibrationSchema || len(doc.Work) != 2 || doc.Seam.Count < 2 || *doc.Seam.Max <= 0 {
		t.Fatalf("%v: %s", err, o.stdout)
	}
	if len(doc.Own) != 2 || len(doc.Own[0].Run) != 6 || doc.Own[1].Bare[5] <= 0 || doc.Own[0].RunCPU[0] <= 0 || doc.Own[1].Low > doc.Own[1].Rate || doc.Own[1].Rate > doc.Own[1].High {
		t.Errorf("zkbench's own share: %+v", doc.Own)
	}
	if stored, err := calibrate.Read(); err != nil || !stored.Made.Equal(doc.Made) || stored.Host == "" || stored.Servers != 1 {
		t.Errorf("stored is %+v, %v", stored, err)
	}
	load := []string{"--servers", address, "--out"}
	sets := []string{"variants=predecessor", "sessions=2", "warmup=200ms", "duration=500ms"}
	out := t.TempDir()
	args := append([]string{"run", "quickstart", "-q"}, append(load, out+"/run")...)
	pair := append([]string{"ab", "--a", "quickstart", "--b", "quickstart", "--pairs", "1"}, append(load, out+"/ab")...)
	for _, s := range sets {
		args, pair = append(args, "--set", s), append(pair, "--a-set", s, "--b-set", s)
	}
	zkbench(t, args...).wantEnd("Calibration of this machine", "comparing two single runs cannot show", "own share at full load")
	if run, err := results.Read(out + "/run"); err != nil || run.Environment.Calibration == nil || !run.Environment.Calibration.Same || len(run.Environment.Calibration.Own) != 2 {
		t.Errorf("the calibration of a run: %v, %+v", err, run)
	}
	if o := zkbench(t, pair...); !strings.Contains(o.stderr, "1 pair should show throughput differences") || !strings.Contains(o.stdout, "1 pair should show") {
		t.Errorf("what 'ab' says of differences beforehand and in its report: %s%s", o.stderr, o.stdout)
	}
	o = zkbench(t, append(short, "--pairs", "0")...).want(exitOK, "Calibration of", "fsync in", "reads, 4 sessions", "round trip to a driver", "Differences: of 3 identical runs", "Stored:")
	if strings.Contains(o.stdout, "own share") {
		t.Errorf("an own share without pairs: %s", o.stdout)
	}
	wantEmpty(t, address)
}

func TestCalibrateRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, says string }{
		{"x", "unexpected argument"}, {"--servers a:1 --ensemble local:1", "remove one of them"}, {"--dir ./none", "--dir"}, {"--dir go.mod", "--dir"},
		{"--runs 2", "--runs"}, {"--pairs 5", "--pairs: must be 0 or 6 to 100"}, {"--pairs 101", "--pairs"}, {"--sessions 0", "--sessions"}, {"--for 1ms", "--for"}, {"--root x", "--root"}, {"--ensemble local:2", "1, 3, 5 or 7"}, {"--tls-key x", "--tls-ca"},
	} {
		zkbench(t, append([]string{"calibrate"}, strings.Fields(test.args)...)...).want(exitUsage, test.says)
	}
}

// Sessions with the same seed go to the server at the same place of their list, so each server has to be at each place equally often.
func TestInTurn(t *testing.T) {
	t.Parallel()
	servers := []string{"a", "b", "c"}
	turn := inTurn(servers)
	for call := range 2 * len(servers) {
		list := turn()
		for i, s := range list {
			if s != servers[(call+i)%len(servers)] {
				t.Errorf("call %d: %v", call, list)
			}
		}
	}
}
