package command

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/traffic/trace"
)

// readTrace returns the header and the events of a complete trace.
func readTrace(t *testing.T, file string) (trace.Header, []trace.Event) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := trace.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []trace.Event
	for {
		e, err := r.Next()
		if err == io.EOF {
			return r.Header(), all
		}
		if err != nil {
			t.Fatal(err)
		}
		own := *e
		own.Ops = append([]trace.Event(nil), e.Ops...)
		all = append(all, own)
	}
}

func TestTrace(t *testing.T) {
	dir, file := trafficDir(t), filepath.Join(t.TempDir(), "ours.trace")
	code, out, errs := ran(t, "trace", dir, "--out", file)
	if code != exitOK || !strings.Contains(out, "120 writes of 3 sessions") || !strings.Contains(out, "20 of which failed, 80 reads") || !strings.Contains(errs, "not in the trace: ") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	h, events := readTrace(t, file)
	if !strings.HasPrefix(h.Maker, "zkbench trace ") || h.Source != dir || h.Names || h.Reads || h.Start.UnixMilli() != 1_700_000_000_000 || len(events) != 3+120+3 { // what was there: /payroll, jobs and state below it
		t.Errorf("%+v, %d events", h, len(events))
	}
	for _, e := range events {
		if strings.Contains(e.Path+e.Got, "payroll") {
			t.Fatalf("%+v has a name", e)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "takes the dataDir"},
		{[]string{dir}, exitUsage, "--out: missing"},
		{[]string{dir, "--out", file}, exitFailed, "exists (remove it"},
		{[]string{dir, "--out", filepath.Join(dir, "log.1")}, exitFailed, "exists (remove it"},
		{[]string{dir, "--out", "x", "--from", "soon"}, exitUsage, "not a time"},
		{[]string{dir, "--out", filepath.Join(t.TempDir(), "x"), "--from", "2026-01-02T00:00:00Z"}, exitFailed, "no transactions in this time"},
		{[]string{t.TempDir(), "--out", filepath.Join(t.TempDir(), "x")}, exitFailed, "no files log.ZXID"},
	} {
		if code, _, errs := ran(t, append([]string{"trace"}, c.args...)...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("trace %q: exit code %d, %s, want %d and %q", c.args, code, errs, c.code, c.want)
		}
	}
	again := filepath.Join(t.TempDir(), "named.trace")
	if code, _, errs := ran(t, "trace", dir, "--out", again, "--names", "--from", "2023-11-14T22:13:21Z"); code != exitOK {
		t.Errorf("with names: exit code %d, %s", code, errs)
	}
	if h, events := readTrace(t, again); !h.Names || len(events) == 0 || !strings.HasPrefix(events[0].Path, "/payroll") {
		t.Errorf("with names: %+v, %+v", h, events[0])
	}
}
