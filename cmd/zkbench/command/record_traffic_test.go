package command

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/traffic/trace"
)

func TestRecordRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.trace")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "record takes the file"},
		{[]string{"x"}, exitUsage, "record needs --servers"},
		{[]string{"x", "--servers", "local:3"}, exitUsage, "running servers"},
		{[]string{"x", "--servers", "127.0.0.1:1,127.0.0.1:2", "--listen", "127.0.0.1:0"}, exitUsage, "1 address for 2 servers"},
		{[]string{"x", "--servers", "127.0.0.1:1", "--listen", "here"}, exitUsage, "is not host:port"},
		{[]string{"x", "--servers", "127.0.0.1:1", "--for", "-1s"}, exitUsage, "must be positive"},
		{[]string{file, "--servers", "127.0.0.1:1"}, exitFailed, "exists (remove it"},
		{[]string{filepath.Join(file, "x"), "--servers", "127.0.0.1:1"}, exitFailed, "not a directory"},
		{[]string{filepath.Join(t.TempDir(), "x"), "--servers", "127.0.0.1:1", "--listen", "256.0.0.1:1"}, exitFailed, "256.0.0.1"},
	} {
		if code, _, errs := ran(t, append([]string{"record"}, c.args...)...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("record %q: exit code %d, %s, want %d and %q", c.args, code, errs, c.code, c.want)
		}
	}
}
