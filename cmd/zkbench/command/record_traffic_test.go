package command

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/traffic/trace"
	"github.com/zkbench/zkbench/zk/wire"
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

// What a client sends through the address that record listens at is in the trace, until Ctrl-C.
func TestRecord(t *testing.T) {
	address, file := servers.Get(t, 1).Addresses()[0], filepath.Join(t.TempDir(), "a.trace")
	m := newTerminal(t)
	m.when("Ctrl-C", func() {
		go func() {
			defer m.interrupt(1)
			s, err := wire.Dial(t.Context(), wire.Config{Servers: []string{regexp.MustCompile(`127\S+`).FindString(m.errors.String())}, Timeout: 10 * time.Second})
			if err != nil {
				t.Error(err)
				return
			}
			_, _, err = s.Get(t.Context(), "/zookeeper")
			if err := errors.Join(err, s.Close()); err != nil {
				t.Error(err)
			}
		}()
	})
	m.run("record", file, "--servers", address).want(exitOK, "1 request and 0 watch events of 1 session")
	h, events := readTrace(t, file)
	if !h.Reads || h.Names || h.Source != address || !strings.HasPrefix(h.Maker, "zkbench record ") || len(events) != 3 || events[1].Op != trace.Get || events[1].Path != "/zookeeper" || events[2].Kind != trace.Close {
		t.Errorf("%+v, %+v", h, events)
	}
	empty := filepath.Join(t.TempDir(), "b.trace")
	zkbench(t, "record", empty, "--servers", address, "--for", "1ms").want(exitOK, "0 requests")
	if _, events := readTrace(t, empty); len(events) != 0 {
		t.Errorf("%+v", events)
	}
}

// A run that records itself has its own sessions and requests in the trace, below its root, and not those of the administrative session.
func TestARunRecordsItself(t *testing.T) {
	address, file := servers.Get(t, 1).Addresses()[0], filepath.Join(t.TempDir(), "a.trace")
	zkbench(t, "run", "operations", "-q", "--servers", address, "--set", "sessions=2", "--set", "variants=[persistent]", "--set", "warmup=0s", "--set", "duration=1s", "--set", "rate=100/s",
		"--record", file, "--out", out(t)).wantEnd("wrote "+file, "fault proxy")
	h, events := readTrace(t, file)
	kinds, ops := map[trace.Kind]int{}, map[trace.Op]int{}
	for _, e := range events {
		kinds[e.Kind]++
		if e.Kind == trace.Request {
			ops[e.Op]++
		}
		if e.Path != "" && !strings.HasPrefix(e.Path, "/zkbench/operations-") {
			t.Errorf("%+v is outside the root", e)
		}
	}
	if !h.Reads || !h.Names || kinds[trace.Open] != kinds[trace.Close]+kinds[trace.Expire] || kinds[trace.Open] < 2 {
		t.Errorf("%+v, kinds %v", h, kinds)
	}
	for op := trace.Create; op <= trace.Sync; op++ {
		if op != trace.SetACL && op != trace.Check && op != trace.GetACL && op != trace.Sync && ops[op] == 0 {
			t.Errorf("no request %d of %v", op, ops)
		}
	}
	zkbench(t, "run", "operations", "--servers", address, "--record", file).want(exitFailed, "exists (remove it")
}
