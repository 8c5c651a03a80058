package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/internal/tier"
)

// One of three processes is killed in the middle of its cell. The others end as --on-loss says, and the remaining results are merged into one that claims nothing.
func TestAKilledShareIsMissed(t *testing.T) {
	tier.Long(t, "waits until a process is given up; bench kills shares at each step in virtual time")
	t.Parallel()
	under, differing := servers.Get(t, 1).Addresses()[0], ensembletest.Start(t, 1).Addresses()[0]
	var wait sync.WaitGroup
	for onLoss, duration := range map[string]string{"stop": "10m", "finish": "8s"} {
		profile, dir := small(t, "sessions: 6", "rate: 60", "duration: "+duration), t.TempDir()
		wait.Go(func() { killed(t, onLoss, profile, dir, under, differing) })
	}
	wait.Wait()
}

func killed(t *testing.T, onLoss, profile, dir, under, differing string) {
	var codes [3]int
	var dirs []string
	var wait sync.WaitGroup
	for i := range 3 {
		out := filepath.Join(dir, fmt.Sprint("share-", i+1))
		dirs = append(dirs, out)
		cmd := childCommand(t, "plain", "", "run", profile, "--servers", under, "--quiet", "--out", out, "--on-loss", onLoss,
			"--share", fmt.Sprintf("%d/3", i+1), "--meet", "zk://"+differing+"/bench/"+onLoss)
		if err := cmd.Start(); err != nil {
			t.Error(err)
			return
		}
		wait.Go(func() {
			cmd.Wait()
			codes[i] = cmd.ProcessState.ExitCode()
		})
		if i == 1 {
			wait.Go(func() {
				for t.Context().Err() == nil { // until its load has started
					if text, _ := os.ReadFile(filepath.Join(out, "timeline.jsonl")); strings.Contains(string(text), `"steady"`) {
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
				cmd.Process.Kill()
			})
		}
	}
	wait.Wait()
	if codes != [3]int{exitUnknown, -1, exitUnknown} {
		t.Errorf("--on-loss %s: the shares ended with %v", onLoss, codes)
	}
	merged := filepath.Join(dir, "merged")
	zkbench(t, append([]string{"merge", "--out", merged}, dirs...)...).want(exitUnknown, "merged from 2 shares", "share 2")
	doc := result(t, merged)
	if !doc.Partial || len(doc.Cells) != 1 || !doc.Cells[0].Partial || doc.Cells[0].Operations == 0 || len(doc.Cells[0].Shares) != 2 {
		t.Errorf("--on-loss %s: partial %v, exit %v, cells %+v", onLoss, doc.Partial, doc.Exit, doc.Cells)
		return
	}
	for _, k := range doc.Cells[0].Checks {
		if k.Verdict != "unknown" {
			t.Errorf("--on-loss %s: %s %s, though nobody knows what share 2 held", onLoss, k.Name, k.Verdict)
		}
	}
	zkbench(t, "validate-result", merged).want(exitOK, "consistent")
}
