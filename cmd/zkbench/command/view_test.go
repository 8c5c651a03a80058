package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
)

// On a real terminal, narrow or wide, the view is redrawn in place during the run, no line of it wraps, and at the end it is gone.
func TestTheViewOnATerminal(t *testing.T) {
	t.Parallel()
	ensembletest.Need(t, "tmux:tmux")
	address := servers.Get(t, 1).Addresses()[0]
	profile := small(t, "sessions: 40", "duration: 2s")
	for _, width := range []int{80, 200} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "tmux")
			tmux := func(args ...string) string {
				cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", os.DevNull}, args...)...)
				cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", childEnv+"=1")
				text, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("tmux %v: %v: %s", args, err, text)
				}
				return string(text)
			}
			command := fmt.Sprintf("%s run %s --servers %s --out %s; echo over; cat", os.Args[0], profile, address, filepath.Join(t.TempDir(), "result"))
			tmux("new-session", "-d", "-x", fmt.Sprint(width), "-y", "60", command)
			t.Cleanup(func() { tmux("kill-server") })
			seen := map[string]bool{}
			for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
				text := tmux("capture-pane", "-p")
				for line := range strings.Lines(text) {
					if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
						t.Fatalf("%d columns: %q", n, line)
					}
				}
				if strings.Contains(text, "waiting, ") {
					for _, want := range []string{"cell 1 of 1", "grants/s", "samples, last second", "connected", "leads", "errors: ", "of the CPUs"} {
						seen[want] = seen[want] || strings.Contains(text, want)
						if strings.Count(text, want) > 1 {
							t.Fatalf("%q stands there twice: it is not redrawn in place\n%s", want, text)
						}
					}
				}
				if strings.Contains(text, "\nover") {
					if strings.Contains(text, "cell 1 of 1") || !strings.Contains(text, "Result: ") {
						t.Errorf("at the end the terminal shows\n%s", text)
					}
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("after a minute the terminal shows\n%s", text)
				}
			}
			for want, was := range seen {
				if !was {
					t.Errorf("the view never showed %q", want)
				}
			}
			if len(seen) == 0 {
				t.Error("the view was never there")
			}
		})
	}
}
