package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// The result of a real run is consistent; with one number changed it is not, and the command says which.
func TestValidateResult(t *testing.T) {
	t.Parallel()
	address, dir := servers.Get(t, 1).Addresses()[0], out(t)
	zkbench(t, "run", small(t), "--servers", address, "--out", dir).wantEnd()
	zkbench(t, "validate-result", dir).want(exitOK, dir+": consistent (1 cell)")
	path := filepath.Join(dir, results.RunFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doctored := strings.Replace(string(text), `"throughput_per_s": `, `"throughput_per_s": 9`, 1)
	if err := os.WriteFile(path, []byte(doctored), 0o644); err != nil {
		t.Fatal(err)
	}
	zkbench(t, "validate-result", dir).want(exitFailed, dir+": predecessor-4-r1: throughput_per_s x elapsed_s is ")
	zkbench(t, "validate-result", t.TempDir()).want(exitFailed, "no such file")
	zkbench(t, "validate-result").want(exitUsage, "takes the directories")
}
