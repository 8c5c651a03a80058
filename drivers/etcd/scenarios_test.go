package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/zkbench/zkbench/scenarios"
	scenes "github.com/zkbench/zkbench/scenarios/stores"
)

// The library's mutex does what is expected of it in each scenario.
func TestScenarios(t *testing.T) {
	if _, err := exec.LookPath("etcd"); err != nil {
		if os.Getenv("ZKBENCH_REQUIRE_PACKAGES") == "1" {
			t.Fatal(err)
		}
		t.Skip(err, "(make drivers)")
	}
	program := filepath.Join(t.TempDir(), "driver")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found, err := scenes.Run(t.Context(), scenes.Config{Drivers: map[string]string{"etcd": program}, Config: scenarios.Config{Variants: []string{"etcd"}, Parallel: 3}})
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	for _, f := range found {
		if f.Err != nil || f.Seen != f.Expect || f.Witness == "" {
			t.Errorf("%s in %s: %q, want %q: %s, %v", f.Variant, f.Scenario, f.Seen, f.Expect, f.Witness, f.Err)
			continue
		}
		t.Logf("%s in %s: %q, %s", f.Variant, f.Scenario, f.Seen, f.Witness)
	}
}
