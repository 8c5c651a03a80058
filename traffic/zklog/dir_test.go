package zklog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func put(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, b := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string][]byte{"version-2/log.100000001": nil, "version-2/log.9": nil, "version-2/log.a": nil, "version-2/snapshot.0": nil, "version-2/snapshot.1f.gz": nil,
		"version-2/snapshot.2.snappy": nil, "version-2/snapshot.3.zst": nil, "version-2/log.1.gz": nil, "version-2/currentEpoch": nil, "version-2/log.xyz": nil, "myid": nil, "log.3": nil})
	if err := os.Mkdir(filepath.Join(dir, "log.4"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "log.5")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("log.6", filepath.Join(dir, "log.6")); err != nil { // a cycle
		t.Fatal(err)
	}
	files, err := Find(dir)
	var names []string
	for _, f := range slices.Concat(files.Logs, files.Snapshots) {
		names = append(names, fmt.Sprintf("%s=%x", filepath.Base(f.Path), f.Zxid))
	}
	if got, want := strings.Join(names, " "), "log.3=3 log.9=9 log.a=a log.100000001=100000001 snapshot.0=0 snapshot.2.snappy=2 snapshot.1f.gz=1f"; got != want || err != nil {
		t.Errorf("Find = %s, %v, want %s", got, err, want)
	}
	if _, err := Find(t.TempDir()); err == nil || !strings.Contains(err.Error(), "dataDir") {
		t.Errorf("Find in an empty directory: %v", err)
	}
	if _, err := Find(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Find in no directory: %v", err)
	}
}

func TestLogsOfADirectory(t *testing.T) {
	del := func(zxid int64) []byte { return txn(header{1, int32(zxid), zxid, 1000 * zxid, OpDelete}, text("/a")) }
	whole := map[string][]byte{
		"log.1":         logOf(del(1), del(2), make([]byte, 100)),
		"log.3":         logOf(del(3), del(4)),
		"log.5":         logOf(del(5)),
		"log.100000001": logOf(del(0x100000001), del(0x100000002)),
	}
	with := func(name string, b []byte) map[string][]byte {
		files := map[string][]byte{}
		for n, all := range whole {
			files[n] = all
		}
		if files[name] = b; b == nil {
			delete(files, name)
		}
		return files
	}
	for _, c := range []struct {
		why                    string
		files                  map[string][]byte
		txns, missing, repeats int64
		gaps, problems         int
	}{
		{"nothing is wrong", whole, 7, 0, 0, 0, 0},
		{"a middle file is missing", with("log.3", nil), 5, 2, 0, 1, 0},
		{"a middle file is empty", with("log.3", []byte{}), 5, 2, 0, 1, 1},
		{"a middle file is another", with("log.3", []byte("not a log at all")), 5, 2, 0, 1, 1},
		{"a middle file is torn", with("log.3", logOf(del(3), del(4)[:20])), 6, 1, 0, 1, 1},
		{"the last transaction is torn", with("log.100000001", logOf(del(0x100000001), del(0x100000002)[:20])), 6, 0, 0, 0, 1},
		{"the start of an epoch is missing", with("log.100000001", logOf(del(0x100000003))), 6, 2, 0, 1, 0},
		{"two files overlap", with("log.3", logOf(del(2), del(3), del(4), del(4))), 7, 0, 2, 0, 0},
		{"an unknown record", with("log.3", logOf(txn(header{1, 3, 3, 3000, 99}), del(4))), 7, 0, 0, 0, 1},
	} {
		dir := t.TempDir()
		put(t, dir, c.files)
		files, err := Find(dir)
		if err != nil {
			t.Fatal(err)
		}
		l := ReadLogs(files.Logs)
		n := int64(0)
		for l.Next() != nil {
			n++
		}
		l.Close()
		got := l.Coverage()
		if n != c.txns || got.Transactions != n || got.Missing != c.missing || got.Repeated != c.repeats || got.GapCount != c.gaps || got.ProblemCount != c.problems {
			t.Errorf("%s: %d transactions, %+v, want %+v", c.why, n, got, c)
		}
	}
}
