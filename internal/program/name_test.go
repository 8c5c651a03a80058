package program

import (
	"runtime/debug"
	"testing"
)

func TestName(t *testing.T) {
	for _, c := range []struct {
		module string
		known  bool
		args   []string
		want   string
	}{
		{"example.com/yours", true, []string{"/opt/bin/locks", "run"}, "locks"},
		{"example.com/yours", true, []string{"./locks.exe"}, "locks"},
		{"example.com/yours", true, nil, "zkbench"},
		{Module, true, []string{"/tmp/command.test"}, "zkbench"},
		{"", true, []string{"zk"}, "zkbench"},
		{"", false, []string{"zk"}, "zkbench"},
	} {
		if got := nameOf(&debug.BuildInfo{Main: debug.Module{Path: c.module}}, c.known, c.args); got != c.want {
			t.Errorf("nameOf(%q, %v, %q) = %q, want %q", c.module, c.known, c.args, got, c.want)
		}
	}
}
