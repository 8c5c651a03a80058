package traffic

import (
	"bytes"
	"fmt"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/traffic/trace"
	"github.com/zkbench/zkbench/traffic/zklog"
)

// saved is a znode of a snapshot.
type saved struct {
	path         string
	bytes        int
	czxid, mzxid int64
	owner        int64
}

// snapshot writes a snapshot with sessions, whose timeout is 4 s.
func snapshot(t testing.TB, dir string, zxid int64, sessions []int64, znodes []saved) {
	t.Helper()
	b := jute.AppendInt64(jute.AppendInt32([]byte("ZKSN"), 2), -1)
	b = jute.AppendInt32(b, int32(len(sessions)))
	for _, id := range sessions {
		b = jute.AppendInt32(jute.AppendInt64(b, id), 4000)
	}
	b = append(jute.AppendInt64(jute.AppendInt32(b, 1), 1), jute.World...)
	for _, z := range znodes {
		b = append(append(b, text(z.path)...), data(z.bytes)...)
		for _, n := range []int64{-1, z.czxid, z.mzxid, start, start} {
			b = jute.AppendInt64(b, n)
		}
		b = append(b, make([]byte, 3*4)...)
		b = jute.AppendInt64(jute.AppendInt64(b, z.owner), z.czxid)
	}
	b = append(b, text("/")...)
	b = append(jute.AppendInt64(b, int64(adler32.Checksum(b))), text("/")...)
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("snapshot.%x", zxid)), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// events returns a line for each event of the trace of a directory.
func events(t testing.TB, dir string, o TraceOptions) (*Traced, []string) {
	t.Helper()
	var b bytes.Buffer
	result, err := Trace(t.Context(), []string{dir}, o, &b)
	if err != nil {
		t.Fatal(err)
	}
	r, err := trace.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for {
		e, err := r.Next()
		if err == io.EOF {
			return result, lines
		}
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, eventLine(e))
	}
}

func eventLine(e *trace.Event) string {
	s := fmt.Sprintf("%v %s s%d", e.At, []string{"prefill", "open", "resume", "close", "expire", "request", "notify"}[e.Kind], e.Session) + changeLine(e)
	if e.Timeout != 0 {
		s += " " + e.Timeout.String()
	}
	if e.Reads > 0 {
		s += fmt.Sprintf(" after %d reads", e.Reads)
	}
	for i := range e.Ops {
		s += " [" + strings.TrimSpace(changeLine(&e.Ops[i])) + "]"
	}
	return s
}

func changeLine(e *trace.Event) (s string) {
	if e.Op != trace.NoOp {
		s += " " + []string{"", "create", "delete", "set", "setACL", "check", "multi", "get", "exists", "children", "getACL", "sync", "other"}[e.Op]
	}
	for _, part := range []string{e.Path, e.Got} {
		if part != "" {
			s += " " + part
		}
	}
	if e.Size > 0 {
		s += fmt.Sprintf(" %dB", e.Size)
	}
	for i, name := range []string{"ephemeral", "sequential", "container", "ttl", "watch", "any", "unknown"} {
		if e.Flags&(1<<i) != 0 {
			s += " " + name
		}
	}
	if e.Version != 0 {
		s += fmt.Sprintf(" v%d", e.Version)
	}
	if e.TTL != 0 {
		s += " ttl=" + e.TTL.String()
	}
	if e.Code != 0 {
		s += fmt.Sprintf(" code=%d", e.Code)
	}
	return s
}

func equalLines(t *testing.T, got []string, want string) {
	t.Helper()
	if all := strings.Join(got, "\n"); all != strings.TrimSpace(want) {
		t.Errorf("the trace is\n%s\n\nwant\n%s", all, want)
	}
}

func part(op zklog.Op, fields ...[]byte) []byte {
	return jute.AppendBuffer(number(int32(op)), bytes.Join(fields, nil))
}

func TestTraceHasWhatTheLogHas(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.open(7)
	s.create(7, "/a", 10, false, false)
	s.at += 5
	lock := s.create(7, "/a/lock-", 3, true, true)
	s.write(7, 2, zklog.OpSetData, text("/a"), data(30), number(4))
	s.at -= 3 // another leader's clock is behind
	s.write(8, 9, zklog.OpError, number(-110))
	s.write(8, 1, zklog.OpMulti, number(3), part(zklog.OpCheck, text("/a"), number(5)), part(zklog.OpDelete, text(lock)), part(zklog.OpCreate, text("/b"), data(1), []byte(jute.World), []byte{0}, number(9)))
	s.write(8, 0, zklog.OpMulti, number(2), part(zklog.OpDelete, text("/b")), part(zklog.OpError, number(-101)))
	s.at += 1000
	s.txn(0, 0, zklog.OpDeleteContainer, text("/dir/c"))
	s.write(8, 0, zklog.OpCreateTTL, text("/ttl"), data(0), []byte(jute.World), number(10), jute.AppendInt64(nil, 60_000))
	s.write(8, 0, zklog.OpCreateContainer, text("/con"), data(0), []byte(jute.World), number(11))
	s.write(8, 0, zklog.OpSetACL, text("/a"), []byte(jute.World), number(1))
	s.write(8, 0, zklog.OpReconfig, text("/zookeeper/config"), data(5), number(1))
	s.expire(8)
	s.close(7, 5)
	dir := t.TempDir()
	s.save(t, dir, 1)
	result, got := events(t, dir, TraceOptions{Names: true, Maker: "test"})
	equalLines(t, got, `
0s prefill s-1 /dir
0s prefill s-1 /dir/c
0s open s0 4s
0s request s0 create /a 10B
5ms request s0 create /a/lock- /a/lock-0000000000 3B ephemeral sequential
5ms request s0 set /a 30B unknown v3 after 2 reads
5ms resume s1
5ms request s1 code=-110
5ms request s1 multi after 1 reads [check /a unknown v4] [delete /a/lock-0000000000 unknown v-1] [create /b 1B]
5ms request s1 multi code=-101 [delete /b unknown v-1] [code=-101]
1.002s request s-1 delete /dir/c unknown v-1
1.002s request s1 create /ttl ttl ttl=1m0s
1.002s request s1 create /con container
1.002s request s1 setACL /a unknown
1.002s request s1 other /zookeeper/config 5B code=16
1.002s expire s1
1.002s close s0 after 5 reads`)
	if result.Requests != 10 || result.Failed != 2 || result.Reads != 8 || result.Sessions != 2 || result.Prefilled != 2 || result.Length != 1002*time.Millisecond || len(result.Problems) != 0 {
		t.Errorf("%+v", result)
	}
	if notes := strings.Join(result.Unknown, "; "); !strings.Contains(notes, "no snapshot") || !strings.Contains(notes, "that failed") {
		t.Errorf("unknown: %s", notes)
	}
	_, hashed := events(t, dir, TraceOptions{Salt: "salt", Maker: "test"})
	a := trace.NewNames("salt").Path("/a")
	if strings.Contains(strings.Join(hashed, "\n"), "/dir") || !strings.Contains(hashed[4], a+"/") || !strings.HasSuffix(hashed[4], "0000000000 3B ephemeral sequential") || len(hashed) != len(got) {
		t.Errorf("hashed:\n%s", strings.Join(hashed, "\n"))
	}
}

// What was there at the start is what the snapshot has, without what came later, with what the logs say between the two, and with what the fuzzy snapshot has already lost.
func TestTracePrefills(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.zxid = 100
	s.open(3)                                                            // 101
	s.create(3, "/between", 5, false, false)                             // 102
	s.create(3, "/mine", 6, true, false)                                 // 103
	s.write(1, 4, zklog.OpSetData, text("/old"), data(77), number(4))    // 104
	s.delete(2, "/deleted")                                              // 105
	s.expire(2)                                                          // 106
	s.create(3, "/shortlived", 0, false, false)                          // 107
	s.delete(3, "/shortlived")                                           // 108
	s.at += 10_000                                                       // the start
	s.write(1, 3, zklog.OpSetData, text("/old"), data(1), number(5))     // 109
	s.create(3, "/after", 8, false, false)                               // 110
	s.delete(3, "/lost")                                                 // 111
	s.txn(9, 50, zklog.OpCloseSession, number(1), text("/lost-session")) // 112
	s.open(4)                                                            // 113
	s.delete(3, "/beyond")                                               // 114: later than all that the snapshot has
	dir := t.TempDir()
	s.save(t, dir, 101)
	snapshot(t, dir, 100, []int64{1, 2, 4}, []saved{{"", 0, 0, 0, 0}, {"/old", 1, 5, 109, 0}, {"/zookeeper", 0, 0, 0, 0}, {"/zookeeper/config", 9, 0, 0, 0}, {"/deleted", 4, 6, 6, 0},
		{"/theirs", 2, 7, 7, 1}, {"/expired", 3, 8, 8, 2}, {"/between", 5, 102, 102, 0}, {"/after", 8, 110, 110, 0}, {"/beyond", 1, 9, 9, 0}, {"/container", 0, 10, 10, -1 << 63},
		{"/ttl", 0, 10, 10, -1<<56 | 60_000}, {"/new", 0, 113, 113, 4}})
	snapshot(t, dir, 40, nil, []saved{{"", 0, 0, 0, 0}})
	from := time.UnixMilli(start + 5000)
	result, got := events(t, dir, TraceOptions{From: from, Names: true})
	equalLines(t, got, `
0s prefill s-1 /old 77B
0s prefill s-1 /zookeeper
0s prefill s-1 /zookeeper/config 9B
0s prefill s0 /theirs 2B ephemeral
0s prefill s-1 /between 5B
0s prefill s-1 /beyond 1B
0s prefill s-1 /container container
0s prefill s-1 /ttl ttl ttl=1m0s
0s prefill s-1 /lost
0s prefill s1 /lost-session ephemeral
0s prefill s2 /mine 6B ephemeral
0s resume s0 4s
0s resume s2 4s
0s resume s1
5s request s0 set /old 1B unknown v4 after 3 reads
5s request s2 create /after 8B
5s request s2 delete /lost unknown v-1
5s close s1
5s open s3 4s
5s request s2 delete /beyond unknown v-1`)
	if !result.Start.Equal(from) || result.Prefilled != 11 || !strings.HasSuffix(result.Snapshot, "snapshot.64") {
		t.Errorf("%+v", result)
	}
	if _, got := events(t, dir, TraceOptions{From: from, To: time.UnixMilli(start + 10_000 + 1), Names: true}); len(got) != 20 {
		t.Errorf("%d events until the last millisecond, want all 20", len(got))
	}
	if _, err := Trace(t.Context(), []string{dir}, TraceOptions{From: from, To: from.Add(time.Second)}, io.Discard); err == nil || !strings.Contains(err.Error(), "no transactions in this time") {
		t.Errorf("of a time without transactions: %v", err)
	}
	// A snapshot that is later than the start: what was deleted in between was there.
	if err := os.Remove(filepath.Join(dir, "snapshot.64")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "snapshot.28")); err != nil {
		t.Fatal(err)
	}
	snapshot(t, dir, 114, []int64{1, 3, 4}, []saved{{"", 0, 0, 0, 0}, {"/old", 1, 5, 109, 0}, {"/after", 8, 110, 110, 0}, {"/kept", 1, 1, 1, 0}})
	_, got = events(t, dir, TraceOptions{From: from, Names: true})
	equalLines(t, got[:7], `
0s prefill s-1 /old 1B
0s prefill s-1 /kept 1B
0s prefill s-1 /beyond
0s prefill s-1 /lost
0s prefill s0 /lost-session ephemeral
0s resume s1 4s
0s resume s2 4s`)
}

func TestTraceOfDamagedFiles(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.open(1)
	s.create(1, "/a", 10, false, false)
	s.b = s.b[:len(s.b)-3]
	dir := t.TempDir()
	s.save(t, dir, 1)
	if err := os.WriteFile(filepath.Join(dir, "snapshot.0"), []byte("ZKSN"), 0o600); err != nil {
		t.Fatal(err)
	}
	result, got := events(t, dir, TraceOptions{Names: true})
	equalLines(t, got, "0s open s0 4s")
	if all := strings.Join(result.Problems, "\n"); !strings.Contains(all, "snapshot.0") || !strings.Contains(all, "log.1") || len(result.Problems) != 2 {
		t.Errorf("problems %q", result.Problems)
	}
}

// Numbers and paths that no server writes do not keep the rest from being traced.
func TestTraceOfHostileFiles(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.txn(1, 0, zklog.OpCreateSession, number(-5))
	s.write(1, 0, zklog.OpCreateTTL, text("/ttl"), data(0), []byte(jute.World), number(10), jute.AppendInt64(nil, 1<<62))
	s.write(1, 0, zklog.OpCreateTTL, text("/ttl"), data(0), []byte(jute.World), number(10), jute.AppendInt64(nil, -1))
	s.write(1, 0, zklog.OpDelete, text("/"+strings.Repeat("a/", trace.MaxPath)))
	s.write(1, 0, zklog.OpMulti, number(trace.MaxOps+1), bytes.Repeat(part(zklog.OpError, number(0)), trace.MaxOps+1))
	s.at = 1 << 62
	s.write(1, 1<<31-10, zklog.OpSetData, text("/a"), data(1), number(0))
	dir := t.TempDir()
	s.save(t, dir, 1)
	for _, names := range []bool{true, false} {
		result, got := events(t, dir, TraceOptions{Names: names})
		if len(got) != 7 || result.Requests != 5 || !strings.Contains(got[4], "other code=2") || !strings.Contains(got[5], "other code=14") {
			t.Errorf("%+v\n%.3000s", result, strings.Join(got, "\n"))
		}
	}
}
