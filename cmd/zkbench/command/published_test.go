package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
)

// One variant from end to end: the table, run.json, and nothing left on the servers.
func TestRunPublished(t *testing.T) {
	t.Parallel()
	servers := ensembletest.Start(t, 1)
	out := filepath.Join(t.TempDir(), "result")
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr, signals: make(chan os.Signal), setup: setup()}
	code := a.main(t.Context(), []string{"run", "published", "--set", "variants=[exists-on-parent]",
		"--servers", strings.Join(servers.Addresses(), ","), "--out", out})
	if code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, &stdout, &stderr)
	}
	if want := "exists-on-parent  plain-release  liveness  liveness  nobody holds"; !strings.Contains(stdout.String(), want) {
		t.Errorf("the table lacks %q:\n%s", want, &stdout)
	}
	text, err := os.ReadFile(filepath.Join(out, results.RunFile))
	if err != nil {
		t.Fatal(err)
	}
	var doc results.Run
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Findings) != 2 || doc.Findings[0].Seen != "liveness" || doc.Findings[1].Seen != "" || doc.Partial {
		t.Errorf("run.json has %+v, partial %v; want the violation and the control", doc.Findings, doc.Partial)
	}
	s, err := a.setup.Open(t.Context(), "native", servers.Addresses(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, there, err := s.Exists(t.Context(), doc.Root); err != nil || there {
		t.Errorf("Exists(%s) = %v, %v after the run", doc.Root, there, err)
	}
}

func TestPublishedTakesNoLoad(t *testing.T) {
	for _, args := range [][]string{
		{"validate", "published", "--set", "sessions=10"},
		{"validate", "published", "--set", "variants=[predecessor]"},
		{"validate", "published", "--set", "hold=5ms"},
	} {
		var stdout, stderr bytes.Buffer
		a := &app{stdout: &stdout, stderr: &stderr, setup: setup()}
		if code := a.main(t.Context(), args); code != exitUsage {
			t.Errorf("%v: exit code %d\n%s", args, code, &stderr)
		}
	}
}
