package zklog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// What a real server has written of requests is what was sent, in each of the formats that it can be made to write.
func TestARealServersFiles(t *testing.T) {
	ensembletest.NeedServers(t)
	for _, c := range []struct {
		name   string
		java   []string
		digest bool
		listed bool
		end    string // of the snapshots' names
	}{
		{name: "as it comes", digest: true, listed: true},
		{name: "as 3.4 wrote, and gz", end: ".gz", java: []string{"-Dzookeeper.digest.enabled=false", "-Dzookeeper.closeSessionTxn.enabled=false", "-Dzookeeper.snapshot.compression.method=gz"}},
		{name: "no list of paths, and snappy", end: ".snappy", digest: true, java: []string{"-Dzookeeper.closeSessionTxn.enabled=false", "-Dzookeeper.snapshot.compression.method=snappy"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "ensemble")
			e, err := local.Start(t.Context(), local.Config{Servers: 1, Dir: dir, Heap: "192m", NoFsync: true, Extra: map[string]string{"snapCount": "60"}, // a snapshot at 30 to 60 transactions
				JavaArgs: append(c.java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			sent := load(t, e.Addresses(), filepath.Join(dir, "server-1", "data"))
			if err := e.Stop(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			files, err := Find(filepath.Join(dir, "server-1", "data"))
			if err != nil {
				t.Fatal(err)
			}
			checkLogs(t, files.Logs, sent, c.digest, c.listed)
			checkSnapshots(t, files.Snapshots, sent, c.end)
		})
	}
}

// parents is what a line says beyond what was sent.
var parents = regexp.MustCompile(` parent=-?\d+ ttl=\S+?s\b`)

// request is a write that was sent, as it must be in the log.
type request struct {
	line          string // of the record, without the number of the parent's children
	before, after time.Time
}

type sentLoad struct {
	session   int64
	timeout   time.Duration
	requests  []request
	reads     int // before the last write
	remaining map[string]int
	ephemeral map[string]bool
}

// load sends some of everything, in one session that it closes once a snapshot that has the session is complete: a server writes one beside its work, and one
// that is late has what happened meanwhile.
func load(t *testing.T, servers []string, dir string) *sentLoad {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := wire.Dial(ctx, wire.Config{Servers: servers, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := &sentLoad{session: s.ID(), timeout: s.Timeout(), remaining: map[string]int{}, ephemeral: map[string]bool{}}
	send := func(line string, write func() error, may ...error) {
		t.Helper()
		before := time.Now()
		if err := write(); err != nil && !slices.ContainsFunc(may, func(e error) bool { return errors.Is(err, e) }) {
			t.Fatalf("%s: %v", line, err)
		}
		l.requests = append(l.requests, request{line, before, time.Now()})
	}
	create := func(path string, bytes int, mode zk.Mode, want string) {
		t.Helper()
		send(fmt.Sprintf("create %s %dB ephemeral=%v", want, bytes, mode == zk.Ephemeral || mode == zk.EphemeralSequential), func() error {
			c, err := s.Create(ctx, path, make([]byte, bytes), mode)
			if err == nil && c.Path != want {
				return fmt.Errorf("created %s", c.Path)
			}
			return err
		})
		l.remaining[want], l.ephemeral[want] = bytes, mode == zk.Ephemeral || mode == zk.EphemeralSequential
	}
	create("/t", 3, zk.Persistent, "/t")
	create("/t/e", 0, zk.Ephemeral, "/t/e")
	for i := range 20 { // the numbers count creates, not deletes
		create("/t/s-", 10*i, zk.PersistentSequential, fmt.Sprintf("/t/s-%010d", 2*i+1))
		item := fmt.Sprintf("/t/l-%010d", 2*i+2)
		create("/t/l-", i, zk.EphemeralSequential, item)
		if _, _, err := s.Get(ctx, "/t"); err != nil {
			t.Fatal(err)
		}
		l.reads++
		send("delete "+item, func() error { return s.Delete(ctx, item, zk.AnyVersion) })
		delete(l.remaining, item)
	}
	for i := range 50 {
		send(fmt.Sprintf("setData /t %dB version=%d", i*100, i+1), func() error { _, err := s.Set(ctx, "/t", make([]byte, i*100), zk.AnyVersion); return err })
	}
	l.remaining["/t"] = 4900
	send("error code=-110", func() error { _, err := s.Create(ctx, "/t", nil, zk.Persistent); return err }, zk.ErrNodeExists)
	send("error code=-101", func() error { return s.Delete(ctx, "/none", zk.AnyVersion) }, zk.ErrNoNode)
	send("error code=-103", func() error { _, err := s.Set(ctx, "/t", nil, 7); return err }, zk.ErrBadVersion)
	send("multi [check /t version=51] [create /t/m 2B ephemeral=false] [setData /t/m 5B version=1] [delete /t/m]", func() error {
		_, err := s.Multi(ctx, zk.CheckOp("/t", 50), zk.CreateOp("/t/m", []byte("ab"), zk.Persistent), zk.SetOp("/t/m", []byte("12345"), zk.AnyVersion), zk.DeleteOp("/t/m", zk.AnyVersion))
		return err
	})
	send("multi code=-101 [create /t/n 0B ephemeral=false] [error code=-101] [error code=-2]", func() error {
		_, err := s.Multi(ctx, zk.CreateOp("/t/n", nil, zk.Persistent), zk.DeleteOp("/none", zk.AnyVersion), zk.DeleteOp("/t/n", zk.AnyVersion))
		return err
	}, zk.ErrNoNode)
	send("createContainer /t/c 0B ephemeral=false", func() error { _, err := s.Create(ctx, "/t/c", nil, zk.Container); return err })
	l.remaining["/t/c"] = 0
	before := newest(t, dir)
	for i := range 60 { // the next snapshot is at most that many transactions away, and the one after it at least 30
		if newest(t, dir) != before {
			break
		}
		send(fmt.Sprintf("setData /t 4900B version=%d", 51+i), func() error { _, err := s.Set(ctx, "/t", make([]byte, 4900), zk.AnyVersion); return err })
	}
	for newest(t, dir) == before {
		if ctx.Err() != nil {
			t.Fatal("no snapshot after 60 transactions")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return l
}

// newest returns the name of the newest snapshot that is complete; "" if there is none.
func newest(t *testing.T, dir string) string {
	t.Helper()
	files, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range slices.Backward(files.Snapshots) {
		r, err := os.Open(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		err = ReadSnapshot(r, f.Path, Visitor{})
		r.Close()
		if err == nil {
			return f.Path
		}
	}
	return ""
}

// checkLogs compares the transactions of the session with what was sent.
func checkLogs(t *testing.T, logs []File, sent *sentLoad, digest, listed bool) {
	t.Helper()
	r := ReadLogs(logs)
	defer r.Close()
	var got []string
	last, reads, opened, closed := int32(0), 0, false, false
	for tx := r.Next(); tx != nil; tx = r.Next() {
		if tx.Digest != (digest && tx.Op != OpError) { // a failed request changes nothing
			t.Errorf("%s: a digest is %v, want %v", line(tx), tx.Digest, digest)
		}
		if tx.Session != sent.session {
			continue
		}
		switch {
		case tx.Op == OpCreateSession:
			if opened = true; tx.Timeout != sent.timeout || tx.Cxid != 0 {
				t.Errorf("%s, want the timeout %v", line(tx), sent.timeout)
			}
			continue
		case tx.Op == OpCloseSession:
			var paths []string
			for p := range tx.Paths() {
				paths = append(paths, string(p))
			}
			if want := []string{"/t/e"}; tx.Listed != listed || listed && !slices.Equal(paths, want) || tx.Cxid == 0 {
				t.Errorf("%s, want %q listed: %v, by the client", line(tx), want, listed)
			}
			closed = true
			continue
		}
		reads += int(tx.Cxid - last - 1)
		last = tx.Cxid
		text := parents.ReplaceAllString(line(tx)[strings.Index(line(tx), tx.Op.String()):], "")
		if i := len(got); i < len(sent.requests) && (tx.Millis < sent.requests[i].before.UnixMilli() || tx.Millis > sent.requests[i].after.UnixMilli()) {
			t.Errorf("%s at %v, sent at %v and answered at %v", text, tx.Time(), sent.requests[i].before, sent.requests[i].after)
		}
		if n, ok := tx.Sequential(); ok != strings.Contains(text, "-00000") && tx.Op.Creates() {
			t.Errorf("%s: sequential %v, number %d", text, ok, n)
		}
		got = append(got, strings.TrimSuffix(text, " digest"))
	}
	var want []string
	for _, r := range sent.requests {
		want = append(want, r.line)
	}
	if len(got) != len(want) {
		t.Errorf("%d writes in the log, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("write %d is %q in the log, want %q", i, got[i], want[i])
		}
	}
	if reads != sent.reads || !opened || !closed {
		t.Errorf("%d reads, opened %v, closed %v, want %d reads", reads, opened, closed, sent.reads)
	}
	if c := r.Coverage(); c.ProblemCount+c.GapCount > 0 || c.Repeated > 0 {
		t.Errorf("coverage %+v, %v", c, c.Problems)
	}
}

// checkSnapshots reads all snapshots, and compares the last one with what was created.
func checkSnapshots(t *testing.T, all []File, sent *sentLoad, end string) {
	t.Helper()
	if len(all) < 2 {
		t.Fatalf("%d snapshots, want at least 2", len(all))
	}
	for i, f := range all {
		if !strings.HasSuffix(f.Path, end) || end == "" && filepath.Ext(filepath.Base(f.Path)[len("snapshot."):]) != "" {
			t.Errorf("%s, want a name ending with %q", f.Path, end)
		}
		r, err := os.Open(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		got, sessions := map[string]int{}, map[int64]time.Duration{}
		err = ReadSnapshot(r, f.Path, Visitor{
			Session: func(id int64, timeout time.Duration) { sessions[id] = timeout },
			Znode: func(z *Znode) {
				p := string(z.Path)
				if got[p] = z.Data; (z.Session() == sent.session) != sent.ephemeral[p] {
					t.Errorf("%s belongs to session %x, want an ephemeral of %x: %v", p, z.Session(), sent.session, sent.ephemeral[p])
				}
			},
		})
		r.Close()
		if err != nil {
			t.Error(err)
		}
		if i < len(all)-1 || i == 0 {
			continue
		}
		if sessions[sent.session] != sent.timeout {
			t.Errorf("%s: sessions %v, want %x with %v", f.Path, sessions, sent.session, sent.timeout)
		}
		seen := 0
		for p := range sent.remaining {
			if _, ok := got[p]; ok {
				seen++
			}
		}
		if _, ok := got["/"]; !ok || seen == 0 || len(got) > len(sent.remaining)+4 {
			t.Errorf("%s has %d znodes, of which %d were created by the test, want most of %d: %v", f.Path, len(got), seen, len(sent.remaining), got)
		}
	}
}
