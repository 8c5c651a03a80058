package record_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/traffic"
	"github.com/zkbench/zkbench/traffic/record"
	"github.com/zkbench/zkbench/traffic/trace"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// What passes the proxy and what the server logs of it are the same, as far as both know it.
func TestARecordingIsWhatTheServerLogs(t *testing.T) {
	ensembletest.NeedServers(t)
	roundTrip(t, 3, 4, "")
}

func TestRecordingsOfVersions(t *testing.T) {
	tier.Long(t, "starts servers of three versions, with more load; TestARecordingIsWhatTheServerLogs")
	for _, version := range ensembletest.Versions() {
		t.Run(version, func(t *testing.T) {
			ensembletest.NeedVersion(t, version)
			roundTrip(t, 12, 30, version)
		})
	}
}

// roundTrip has sessions that repeat some of everything a number of times.
func roundTrip(t *testing.T, sessions, rounds int, version string) {
	dir := filepath.Join(t.TempDir(), "ensemble")
	e, err := local.Start(t.Context(), local.Config{Servers: 1, Dir: dir, ZooKeeper: version, Heap: "192m", Tick: 500 * time.Millisecond, NoFsync: true,
		JavaArgs: []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	from := time.Now().Add(time.Millisecond) // the log has milliseconds
	for time.Now().Before(from) {
		time.Sleep(time.Millisecond)
	}
	var recorded bytes.Buffer
	r, err := record.New(&recorded, record.Config{Maker: "test", Names: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := proxy.Start(ctx, proxy.Config{Upstreams: e.Addresses(), Tap: r})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range sessions {
		all.Go(func() { load(t, ctx, p.Addresses(), n, rounds) })
	}
	all.Wait()
	for r.Counts().Expired == 0 && ctx.Err() == nil { // the one that load leaves
		time.Sleep(10 * time.Millisecond)
	}
	awaitExpiry(t, ctx, e.Addresses())
	if err := errors.Join(p.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer // what the server has answered is in its files
	result, err := traffic.Trace(t.Context(), []string{filepath.Join(dir, "server-1", "data")}, traffic.TraceOptions{Names: true, From: from}, &logged)
	if err != nil || len(result.Problems) > 0 {
		t.Fatalf("%v, %q", err, result.Problems)
	}
	if got, want := inOrder(t, recorded.Bytes()), inOrder(t, logged.Bytes()); !slices.Equal(got, want) {
		t.Errorf("%d writes in another order than the %d of the log", len(got), len(want))
	}
	seen, written := summary(t, &recorded, true), summary(t, &logged, false)
	if got, want := len(seen), sessions+1; got < want { // handshakes may be answered too late, and are made again
		t.Errorf("%d sessions, want %d", got, want)
	}
	// That of awaitExpiry did not pass the proxy; its first request, which makes it known, is not a write.
	written = slices.DeleteFunc(written, func(s string) bool { return strings.HasPrefix(s, "outside") })
	if len(seen) != len(written) {
		t.Errorf("%d sessions recorded, %d logged", len(seen), len(written))
	}
	for i := range min(len(seen), len(written)) {
		got, want := strings.Split(seen[i], "; "), strings.Split(written[i], "; ")
		for n := range min(len(got), len(want)) {
			if got[n] != want[n] {
				t.Errorf("session %d, write %d of %d and %d: recorded %q, logged %q", i, n, len(got), len(want), got[n], want[n])
				break
			}
		}
		if len(got) != len(want) {
			t.Errorf("session %d: %d writes recorded, %d logged", i, len(got), len(want))
		}
	}
	c := r.Counts()
	if want := int64(sessions * rounds); c.Events < want || c.Late != 0 || c.Unknown != 0 || c.Requests < 12*want {
		t.Errorf("%+v, want at least %d events of watches, and nothing late or unknown", c, want)
	}
}

// load carries out some of everything. Session 0 leaves one that expires.
func load(t *testing.T, ctx context.Context, servers []string, n, rounds int) {
	dial := func(timeout time.Duration) zk.Session {
		s, err := wire.Dial(ctx, wire.Config{Servers: servers, Timeout: timeout})
		if err != nil {
			t.Error(err)
		}
		return s
	}
	must := func(err error, may ...error) {
		if err != nil && !slices.ContainsFunc(may, func(e error) bool { return errors.Is(err, e) }) {
			t.Error(err)
		}
	}
	s := dial(10 * time.Second)
	if s == nil {
		return
	}
	base := fmt.Sprintf("/tenant-%d", n)
	_, err := s.Create(ctx, base, nil, zk.Persistent)
	must(err)
	for i := range rounds {
		p := fmt.Sprintf("%s/x-%d", base, i)
		_, err := s.Create(ctx, p, make([]byte, 100), zk.Persistent)
		must(err)
		_, err = s.Create(ctx, base+"/big", make([]byte, 10_000+i), zk.Ephemeral)
		must(err)
		_, _, watch, err := s.GetW(ctx, p)
		must(err)
		_, err = s.Set(ctx, p, make([]byte, 10*i), 0)
		must(err)
		<-watch.C()
		_, err = s.Set(ctx, p, make([]byte, 9), 7)
		must(err, zk.ErrBadVersion)
		_, _, err = s.Children(ctx, base)
		must(err)
		must(s.Sync(ctx, base))
		_, err = s.Create(ctx, p, nil, zk.Persistent)
		must(err, zk.ErrNodeExists)
		for _, mode := range []zk.Mode{zk.EphemeralSequential, zk.PersistentSequential} {
			c, err := s.Create(ctx, base+"/item-", make([]byte, i), mode)
			must(err)
			must(s.Delete(ctx, c.Path, zk.AnyVersion))
		}
		must(s.Delete(ctx, base+"/none", zk.AnyVersion), zk.ErrNoNode)
		_, err = s.Multi(ctx, zk.CheckOp(p, 1), zk.SetOp(p, make([]byte, 9_000), zk.AnyVersion), zk.DeleteOp(base+"/big", zk.AnyVersion), zk.CreateOp(base+"/seq-", []byte("1234"), zk.PersistentSequential))
		must(err)
		_, err = s.Multi(ctx, zk.CheckOp(p, zk.AnyVersion), zk.DeleteOp(base+"/none", zk.AnyVersion), zk.DeleteOp(p, zk.AnyVersion))
		must(err, zk.ErrNoNode)
		_, _, err = s.Exists(ctx, base+"/none")
		must(err)
	}
	must(s.Close())
	if n > 0 {
		return
	}
	if s = dial(3 * time.Second); s == nil {
		return
	}
	_, err = s.Create(ctx, "/left", nil, zk.Ephemeral)
	must(err)
	if k, ok := zk.AsKiller(s); ok {
		k.Crash()
	}
	must(s.Close())
}

// awaitExpiry waits for the end of the session that load has left. It reads only.
func awaitExpiry(t *testing.T, ctx context.Context, servers []string) {
	s, err := wire.Dial(ctx, wire.Config{Servers: servers, Timeout: 4 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for {
		_, there, watch, err := s.ExistsW(ctx, "/left")
		if err != nil {
			t.Fatal(err)
		}
		if !there {
			watch.Stop()
			return
		}
		<-watch.C()
	}
}

// summary returns a line for each session of a trace: its timeout, how it ended, how many reads it sent, and its writes in their order.
func summary(t *testing.T, r io.Reader, reads bool) []string {
	t.Helper()
	in, err := trace.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	if in.Header().Reads != reads {
		t.Errorf("%+v", in.Header())
	}
	type session struct {
		writes  []string
		timeout time.Duration
		end     string
		reads   int
	}
	sessions := map[int]*session{}
	for {
		e, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		s := sessions[e.Session]
		if s == nil {
			s = &session{}
			sessions[e.Session] = s
		}
		s.reads += e.Reads
		switch e.Kind {
		case trace.Open:
			s.timeout = e.Timeout
		case trace.Close:
			s.end = "closed"
		case trace.Expire:
			s.end = "expired"
		case trace.Request:
			if e.Op >= trace.Get || e.Code == -6 { // a server of 3.4 knows no create2, and logs none
				s.reads++
				continue
			}
			s.writes = append(s.writes, write(e))
		}
	}
	delete(sessions, -1)
	var lines []string
	for _, s := range sessions {
		who := "recorded"
		if s.timeout == 4*time.Second || s.timeout == 0 {
			who = "outside"
		}
		lines = append(lines, fmt.Sprintf("%s %v %s %d reads: %s", who, s.timeout, s.end, s.reads, strings.Join(s.writes, "; ")))
	}
	slices.Sort(lines)
	return lines
}

// inOrder returns the writes of all sessions: in the order of their zxids where they have some, otherwise in that of the trace.
func inOrder(t *testing.T, b []byte) (lines []string) {
	t.Helper()
	in, err := trace.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	type one struct {
		line string
		zxid int64
	}
	var all []one
	for e, err := in.Next(); err != io.EOF; e, err = in.Next() {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == trace.Request && e.Op < trace.Get && e.Code != -6 {
			all = append(all, one{write(e), e.Zxid})
		}
	}
	slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(a.zxid, b.zxid) })
	for _, w := range all {
		lines = append(lines, w.line)
	}
	return lines
}

// write is what a log has of a write.
func write(e *trace.Event) string {
	if e.Code != 0 {
		return fmt.Sprintf("failed %d", e.Code)
	}
	s := fmt.Sprintf("%d %s %s %d %d", e.Op, e.Path, e.Got, e.Size, e.Flags&(trace.Ephemeral|trace.Sequential))
	for i := range e.Ops {
		s += " [" + write(&e.Ops[i]) + "]"
	}
	return s
}
