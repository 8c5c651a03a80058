package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/stores"
)

// The driver, built as its users build it, passes the kit on a real server.
func TestConforms(t *testing.T) {
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
	s, err := stores.Start(t.Context(), stores.Etcd, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := 0
	drivers.Check(t.Context(), drivers.Conformance{Command: []string{program}, Servers: s.Addresses(), Dir: "/kit", Timeout: 4 * time.Second, AnswerTimeout: time.Minute},
		func(f drivers.Finding) {
			if n++; f.Err != nil || f.Skipped != "" {
				t.Error(f)
			}
		})
	if n != 10 {
		t.Errorf("%d findings, want 10", n)
	}
}
