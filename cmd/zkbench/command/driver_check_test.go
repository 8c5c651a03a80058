package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/zkbench/zkbench/internal/tier"
)

// The exit code of a check says what is wrong with a driver: nothing, two holders at once, something else, or that it does not exist.
func TestDriverCheckExitCodes(t *testing.T) {
	tier.Long(t, "waits for a driver that gives no answer; TestNullDriverConforms checks a sound driver")
	null := filepath.Join(t.TempDir(), "null")
	if out, err := exec.Command("go", "build", "-o", null, "../../../drivers/null").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		name, script string
		code         int
		says         string
	}{
		{"sound", "exec " + null, exitOK, "ok      deadline"},
		{"processes that know nothing of each other", null + ` | sed -u 's/"store":"memory"/"store":"elsewhere"/'`, exitViolated, "two sessions hold the lock at once"},
		{"another language", "echo ready", exitFailed, "FAILED  hello"},
		{"a need that nobody knows", null + ` | sed -u 's/"store":"memory"/"store":"memory","needs":["create3"]/'`, exitFailed, `its hello needs "create3", which zkbench does not know`},
		{"no answer to a try", null + ` | sed -u '/held/s/"error":"held"/"error":"busy"/'`, exitFailed, "FAILED  try"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "driver")
			if err := os.WriteFile(file, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			zkbench(t, "driver", "check", file).want(c.code, c.says)
		})
	}
	zkbench(t, "driver", "check", "./gone").want(exitUsage, "does not exist")
	zkbench(t, "driver", "check").want(exitUsage, "one program")
}
