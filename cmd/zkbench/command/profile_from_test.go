package command

import (
	"encoding/json"
	"fmt"
	"hash/adler32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/report/page"
	"github.com/zkbench/zkbench/traffic"
	"github.com/zkbench/zkbench/traffic/zklog"
)

// trafficDir has the log of a server whose clients used a lock and a queue, read, set and failed.
func trafficDir(t *testing.T) string {
	b := jute.AppendInt64(jute.AppendInt32([]byte("ZKLG"), 2), 0)
	zxid, at, cxids := int64(0), int64(1_700_000_000_000), map[int64]int32{}
	add := func(session int64, reads int32, op zklog.Op, parts ...[]byte) {
		if zxid++; op == zklog.OpCreateSession {
			cxids[session] = -1
		}
		cxids[session] += reads + 1
		r := jute.AppendInt32(jute.AppendInt64(nil, session), cxids[session])
		r = jute.AppendInt32(jute.AppendInt64(jute.AppendInt64(r, zxid), at), int32(op))
		r = append(r, slices.Concat(parts...)...)
		b = append(jute.AppendBuffer(jute.AppendInt64(b, int64(adler32.Checksum(r))), r), 0x42)
	}
	text := func(s string) []byte { return jute.AppendString(nil, s) }
	create := func(session int64, path string, number int32, ephemeral bool) string {
		path += fmt.Sprintf("%010d", number)
		add(session, 0, zklog.OpCreate, text(path), jute.AppendBuffer(nil, make([]byte, 50)), []byte(jute.World), jute.AppendBool(nil, ephemeral), jute.AppendInt32(nil, number+1))
		return path
	}
	for id := range int64(3) {
		add(id+1<<56, 0, zklog.OpCreateSession, jute.AppendInt32(nil, 6000))
	}
	for i := range int32(20) {
		lock := create(1<<56, "/payroll/lock-", i, true)
		at += 10
		item := create(1+1<<56, "/payroll/jobs/item-", i, false)
		add(2+1<<56, 4, zklog.OpSetData, text("/payroll/state"), jute.AppendBuffer(nil, make([]byte, 100+i)), jute.AppendInt32(nil, i))
		at += 20
		add(1<<56, 0, zklog.OpDelete, text(lock))
		add(2+1<<56, 0, zklog.OpDelete, text(item))
		add(2+1<<56, 0, zklog.OpError, jute.AppendInt32(nil, -110))
		at += 70
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "log.1"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ran runs a command and returns how it ended, and what it wrote.
func ran(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	e := zkbench(t, args...)
	return e.code, wrap.ReplaceAllString(e.stdout, " "), e.stderr
}

func TestProfileFrom(t *testing.T) {
	dir := trafficDir(t)
	profile := filepath.Join(t.TempDir(), "ours.yaml")
	code, out, errs := ran(t, "profile-from", dir, "--profile", profile, "--reads", "get=3,children=1")
	if code != exitOK || !strings.Contains(out, "queue") || !strings.Contains(out, "80 reads") || strings.Contains(out, "payroll") {
		t.Errorf("exit code %d\n%s\n%s", code, out, errs)
	}
	if _, shown, _ := ran(t, "profile-from", dir, "--names", "--markdown"); !strings.Contains(shown, "/payroll") || !strings.Contains(shown, "|:--") {
		t.Errorf("with names, as Markdown:\n%s", shown)
	}
	for _, single := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), "ours.html")
		code, shown, errs := ran(t, "profile-from", dir, "--html", file, fmt.Sprintf("--single=%v", single))
		text, err := os.ReadFile(file)
		_, beside := os.Stat(filepath.Join(filepath.Dir(file), page.StyleFile))
		if code != exitOK || err != nil || !strings.Contains(shown, "80 reads") || !strings.Contains(string(text), `<figure id="holds"`) || strings.Contains(string(text), "payroll") || (beside == nil) == single {
			t.Errorf("as a page, single %v: exit code %d, %v, %s, style sheet %v", single, code, err, errs, beside)
		}
	}
	_, text, _ := ran(t, "profile-from", dir, "--json")
	var doc traffic.Report
	if err := json.Unmarshal([]byte(text), &doc); err != nil || doc.Schema != traffic.Schema || doc.Reads.Count != 80 || doc.Writes.Count != 120 || len(doc.Recipes) != 2 {
		t.Errorf("as JSON: %v, %+v", err, doc)
	}
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(profile), "*"))
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	if want := []string{"ours-lock-1.yaml", "ours-queue-1.yaml", "ours.yaml"}; !slices.Equal(names, want) {
		t.Fatalf("wrote %q, want %q", names, want)
	}
	if code, out, errs := ran(t, append([]string{"validate"}, files...)...); code != exitOK {
		t.Errorf("validate: exit code %d\n%s%s", code, out, errs)
	}
	mix, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mix: {get: 33333, children: 11111, set: 11111, create: 22222, delete: 22222}", "session_timeout: 6000ms", "Left out: 20 writes that failed", "rate: 93.2642/s", "bytes of 60 znodes"} {
		if !strings.Contains(string(mix), want) {
			t.Errorf("the profile lacks %q:\n%s", want, mix)
		}
	}
	code, _, errs = ran(t, "profile-from", dir, "--profile", profile)
	mix, _ = os.ReadFile(profile)
	if code != exitOK || strings.Contains(string(mix), "get") && !strings.Contains(string(mix), "Left out: 80 reads") || !strings.Contains(errs, "--reads get=70") {
		t.Errorf("without --reads: exit code %d, %s\n%s", code, errs, mix)
	}
}

// The profiles that it writes are run as any other: nothing that they ask for is refused, nothing is violated, and nothing is left.
func TestProfilesOfServersAreRun(t *testing.T) {
	t.Parallel()
	address, profile := servers.Get(t, 1).Addresses()[0], filepath.Join(t.TempDir(), "ours.yaml")
	if code, _, errs := ran(t, "profile-from", trafficDir(t), "--profile", profile, "--reads", "get=3,children=1"); code != exitOK {
		t.Fatal(code, errs)
	}
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(profile), "*.yaml"))
	for _, file := range files {
		dir := out(t)
		o := zkbench(t, "run", file, "--servers", address, "--out", dir, "--set", "duration=2s", "--set", "warmup=200ms", "--set", "drain=20s")
		if o.code != exitOK && o.code != exitUnknown { // a busy machine may not sustain the rate
			t.Errorf("%s: exit code %d\n%s%s", file, o.code, o.stdout, o.stderr)
		}
		if c := result(t, dir).Cells[0]; c.Operations == 0 {
			t.Errorf("%s: no operations in %+v", file, c)
		}
	}
	wantEmpty(t, address)
}

func TestProfileFromRefuses(t *testing.T) {
	dir := trafficDir(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "takes the dataDir"},
		{[]string{t.TempDir()}, exitFailed, "no files log.ZXID"},
		{[]string{dir, "--from", "yesterday"}, exitUsage, "not a time"},
		{[]string{dir, "--from", "2026-01-02T00:00:00Z", "--to", "2026-01-01T00:00:00Z"}, exitUsage, "must be after"},
		{[]string{dir, "--from", "2026-01-02T00:00:00Z"}, exitFailed, "no requests of clients"},
		{[]string{dir, "--reads", "get=1"}, exitUsage, "only valid with --profile"},
		{[]string{dir, "--profile", "x", "--reads", "peek=1"}, exitUsage, "expected weights"},
		{[]string{dir, "--profile", "x", "--reads", "get=0"}, exitUsage, "all weights are 0"},
		{[]string{dir, "--profile", "x", "--reads", "get=1,get=2"}, exitUsage, "duplicate"},
		{[]string{dir, "--single"}, exitUsage, "only valid with --html"},
		{[]string{dir, "--html", filepath.Join(dir, "missing", "x.html")}, exitFailed, "no such file"},
		{[]string{dir, "--json", "--markdown"}, exitUsage, "cannot be combined"},
	} {
		if code, _, errs := ran(t, append([]string{"profile-from"}, c.args...)...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("profile-from %q: exit code %d, %s, want %d and %q", c.args, code, errs, c.code, c.want)
		}
	}
}
