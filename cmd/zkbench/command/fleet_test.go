package command

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
)

// Two processes carry out one run on real servers, and meet on another server.
func TestTwoProcessesAreOneRun(t *testing.T) {
	t.Parallel()
	under, differing, dir := servers.Get(t, 1).Addresses()[0], ensembletest.Start(t, 1).Addresses()[0], t.TempDir()
	profile := small(t, "sessions: 6", "rate: 60", "duration: 2s", "saturation: allowed")
	run := func(share string, more ...string) ending {
		return inChild(t, "plain", "export ZKBENCH_MEET=zk://"+differing+"/bench/17 ZKBENCH_SHARE="+share,
			append([]string{"run", profile, "--servers", under}, more...)...)
	}
	var shipped atomic.Int64
	store := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		shipped.Add(n)
	}))
	defer store.Close()
	var ends [2]ending
	var wait sync.WaitGroup
	for i, share := range []string{"1/2", "index:1/2"} {
		wait.Go(func() {
			ends[i] = run(share, "--out", filepath.Join(dir, share), "--progress", []string{"none", "json"}[i], "--ship", store.URL+"/runs/?signature=secret")
		})
	}
	wait.Wait()
	for line := range strings.Lines(ends[1].stderr) {
		if !json.Valid([]byte(line)) {
			t.Errorf("with --progress json: %s", line)
		}
	}
	if !strings.Contains(ends[1].stderr, `"message":"share 2/2: waiting for all shares at `) || strings.Contains(ends[0].stderr, "waiting for all shares") {
		t.Errorf("of the meeting the shares say %q and %q", ends[0].stderr, ends[1].stderr)
	}
	due := int64(0)
	for i, share := range []string{"1/2", "index:1/2"} {
		ends[i].want(exitOK, "figures and verdicts are of 3 of the 6 sessions", "not judged on this share: ")
		doc := result(t, filepath.Join(dir, share))
		if doc.Share == nil || doc.Share.Number != i+1 || doc.Share.Shares != 2 {
			t.Errorf("the document of share %s says %+v", share, doc.Share)
		}
		for _, c := range doc.Cells {
			due += c.Due
		}
	}
	if doc := result(t, filepath.Join(dir, "1/2")); doc.Root != result(t, filepath.Join(dir, "index:1/2")).Root {
		t.Errorf("the shares worked under different roots")
	}
	if due < 60 || due > 200 { // 120 on average
		t.Errorf("the shares were offered %d together, at 60/s for 2 s", due)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "1/2", "run.json")); err != nil || strings.Contains(string(text), "signature") || shipped.Load() < int64(2*len(text)) {
		t.Errorf("%d bytes were shipped, with documents of %d: %v", shipped.Load(), len(text), err)
	}
	merged := filepath.Join(dir, "merged")
	zkbench(t, "merge", filepath.Join(dir, "index:1/2"), filepath.Join(dir, "1/2"), "--out", merged).want(exitOK, "merged from 2 shares", "Shares of the run")
	zkbench(t, "validate-result", merged).want(exitOK, "consistent")
	doc := result(t, merged)
	for _, c := range doc.Cells {
		if c.Due != due || len(c.Shares) != 2 || c.Shares[1].SkewLow == nil {
			t.Errorf("%d operations of %d that were due are in the merged run, of %d shares", c.Due, due, len(c.Shares))
		}
		for _, k := range c.Checks {
			if k.Verdict != "holds" || k.Evidence == 0 {
				t.Errorf("%s %s in the merged run: %s", k.Name, k.Verdict, k.Detail)
			}
		}
	}
	zkbench(t, "merge", filepath.Join(dir, "1/2"), "--out", filepath.Join(dir, "half")).want(exitUsage, "share 2 of 2 missing", "--partial")
	zkbench(t, "merge", filepath.Join(dir, "1/2"), "--out", filepath.Join(dir, "half"), "--partial").want(exitUnknown, "share 2 has no result")
	zkbench(t, "merge", filepath.Join(dir, "1/2"), "--out", merged, "--partial").want(exitFailed, "a result exists already")
	zkbench(t, "merge", filepath.Join(dir, "1/2")).want(exitUsage, "--out is missing")
	run("2/2", "--out", filepath.Join(dir, "late")).want(exitFailed, "has already started, and a share cannot be replaced")
	wantMissing(t, filepath.Join(dir, "late"))
}

func TestFleetFlagsAreReadBeforeAnythingElse(t *testing.T) {
	profile := small(t)
	for _, test := range []struct {
		want string
		args []string
	}{
		{"--share without --meet", []string{"--share", "1/2"}},
		{"--meet without --share", []string{"--meet", "zk://localhost/x"}},
		{"--share without --servers", []string{"--share", "1/2", "--meet", "zk://localhost/x"}},
		{"of 2 shares I must be 1 to 2", []string{"--share", "3/2", "--meet", "zk://localhost/x", "--servers", "localhost:1"}},
		{"must be zk://host:port/path", []string{"--share", "1/2", "--meet", "localhost/x", "--servers", "localhost:1"}},
		{"must be zk://host:port/path", []string{"--share", "1/2", "--meet", "zk://localhost", "--servers", "localhost:1"}},
		{"must be zk://host:port/path", []string{"--share", "1/2", "--meet", "zk:///x", "--servers", "localhost:1"}},
		{"--on-loss \"wait\": must be stop or finish", []string{"--share", "1/2", "--meet", "zk://localhost/x", "--servers", "localhost:1", "--on-loss", "wait"}},
		{"--on-loss: only valid with --share and --meet", []string{"--on-loss", "stop"}},
		{"cannot be shared between processes", []string{"--share", "1/2", "--meet", "zk://localhost/x", "--servers", "localhost:1", "--set", "workload=delay-queue",
			"--set", "variants=[delay]"}},
	} {
		zkbench(t, append([]string{"run", profile, "--out", out(t)}, test.args...)...).want(exitUsage, test.want)
	}
}
