package command

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/traffic"
	"github.com/zkbench/zkbench/traffic/trace"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// script is a trace in the making. Its events have to be in the order of their times.
type script struct {
	events []trace.Event
}

func (r *script) add(e trace.Event) { r.events = append(r.events, e) }

// write writes the trace to a file.
func (r *script) write(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "recorded.trace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := trace.NewWriter(f, trace.Header{Maker: "test", Source: "test", Start: time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC), Names: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.events {
		if err := w.Write(&r.events[i]); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// clientsOfALock is a recording of what two clients of a lock do that hand it to each other, with the znodes that were there before, and of a third whose session
// expires while it has an ephemeral znode that the second then creates.
func clientsOfALock(hands int) *script {
	const step = 20 * time.Millisecond
	r := &script{}
	for _, path := range []string{"/app", "/app/config", "/app/lock"} {
		r.add(trace.Event{Kind: trace.Prefill, Session: -1, Path: path, Size: 10})
	}
	for i := range 20 {
		r.add(trace.Event{Kind: trace.Prefill, Session: -1, Path: fmt.Sprintf("/app/item-%010d", 5+2*i), Size: 100})
	}
	r.add(trace.Event{Kind: trace.Prefill, Session: 0, Path: "/app/leader", Flags: trace.Ephemeral, Size: 5})
	r.add(trace.Event{Kind: trace.Prefill, Session: 0, Path: "/app/member-0000000041", Flags: trace.Ephemeral})
	const timeout = 4 * time.Second
	r.add(trace.Event{Kind: trace.Resume, Session: 0, Timeout: timeout})
	r.add(trace.Event{Kind: trace.Open, Session: 1, Timeout: 6 * time.Second})
	r.add(trace.Event{Kind: trace.Open, Session: 2, Timeout: 6 * time.Second})
	name := func(i int) string { return fmt.Sprintf("/app/lock/n-%010d", 700+i) }
	at := step
	request := func(session int, e trace.Event) {
		e.Kind, e.Session, e.At = trace.Request, session, at
		r.add(e)
		at += step
	}
	create := func(i int) {
		request(1+i%2, trace.Event{Op: trace.Create, Flags: trace.Ephemeral | trace.Sequential, Path: "/app/lock/n-", Got: name(i)})
	}
	create(0)
	for i := range hands {
		holder := 1 + i%2
		create(i + 1)
		request(3-holder, trace.Event{Op: trace.Exists, Flags: trace.Watch, Path: name(i)})
		request(holder, trace.Event{Op: trace.Set, Path: "/app/config", Size: 50, Version: int32(30 + i), Reads: 2})
		if i < 20 {
			request(holder, trace.Event{Op: trace.Delete, Flags: trace.NoVersion, Path: fmt.Sprintf("/app/item-%010d", 5+2*i)})
		}
		request(holder, trace.Event{Op: trace.Create, Path: "/app", Code: -110})
		request(holder, trace.Event{Op: trace.Delete, Flags: trace.UnknownVersion, Version: -1, Path: name(i)})
		r.add(trace.Event{Kind: trace.Notify, Session: 3 - holder, At: at - step, Path: name(i), Code: 2})
		request(3-holder, trace.Event{Op: trace.Exists, Path: name(i), Code: -101})
	}
	request(1, trace.Event{Op: trace.Multi, Ops: []trace.Event{{Op: trace.Create, Path: "/app/dir"}, {Op: trace.Create, Path: "/app/dir/a", Size: 7}, {Op: trace.Set, Flags: trace.NoVersion, Path: "/app/config", Size: 3}}})
	request(2, trace.Event{Op: trace.Get, Path: "/app/dir/a", Size: 7})
	request(2, trace.Event{Op: trace.Exists, Path: "/app/member-0000000041"})
	request(2, trace.Event{Op: trace.NoOp, Code: -101})
	at = max(at, timeout+time.Second)
	r.add(trace.Event{Kind: trace.Expire, Session: 0, At: at})
	at += step
	request(2, trace.Event{Op: trace.Create, Flags: trace.Ephemeral, Path: "/app/leader"})
	r.add(trace.Event{Kind: trace.Close, Session: 1, At: at})
	r.add(trace.Event{Kind: trace.Close, Session: 2, At: at + step})
	return r
}

// replayProfile returns the profile of the replay of a recording.
func replayProfile(t *testing.T, r *script, sets ...string) profiles.Profile {
	t.Helper()
	p, err := (&app{setup: setup()}).profile(replayed(r.write(t), asRecorded), sets)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// replayNames are the names of the znodes of replays.
func replayNames() root.Names {
	z := workloads.Replays().AllZnodes()
	return root.NewNames(z.Persistent, z.Ephemeral)
}

// In memory, a replay is exact: as many requests as were recorded, at their times, at each speed, with the same answers.
func TestReplayInMemory(t *testing.T) {
	t.Parallel()
	const hands, requests = 20, 1 + 20*9 + 4 + 1 // drawn reads, too
	for _, c := range []struct {
		speed string
		times float64
	}{{"1", 1}, {"3", 3}, {"0.5", 0.5}, {"max", 0}} {
		t.Run(c.speed, func(t *testing.T) {
			t.Parallel()
			r := clientsOfALock(hands)
			file := r.write(t)
			sets, err := replaySets("get=1,sync=1")
			if err != nil {
				t.Fatal(err)
			}
			p, err := (&app{setup: setup()}).profile(replayed(file, c.speed), sets)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				doc := inMemory(t, p, replayNames())
				cell, f := doc.Cells[0], doc.Cells[0].Fidelity
				late := int64(0)
				if c.times == 3 { // the timeout of the session that expires stays, and is longer than the replay
					late = 1
				}
				if doc.Exit.Code != exitOK || f.Requests != requests || f.Divergent != late || f.Late != late || len(f.Differ) != 0 || f.Vanished != 1 || f.Drawn != 2*hands || f.Received != hands {
					t.Errorf("exit %+v, %+v\n%+v", doc.Exit, *f, f.First)
				}
				if cell.Operations != requests {
					t.Errorf("%d operations, want %d", cell.Operations, requests)
				}
				if c.times == 0 {
					if cell.Loop != "closed" || f.Speed != 0 {
						t.Errorf("loop %s at speed %v", cell.Loop, f.Speed)
					}
					return
				}
				length := r.events[len(r.events)-1].At.Seconds() / c.times
				if cell.Due != requests || math.Abs(cell.ElapsedS-length) > 0.01 || math.Abs(cell.OfferedPerS*length-requests) > 1 || math.Abs(f.Speed-c.times) > 1e-6 {
					t.Errorf("%d requests were due in %v s, %v a second, at speed %v; want %d in %v s", cell.Due, cell.ElapsedS, cell.OfferedPerS, f.Speed, requests, length)
				}
			})
		})
	}
}

// A replay against servers that lack half of what existed before is not faithful, and says where.
func TestAReplayWithoutHalfThePrefill(t *testing.T) {
	t.Parallel()
	p := replayProfile(t, clientsOfALock(20))
	synctest.Test(t, func(t *testing.T) {
		var sessions atomic.Int32
		doc := inMemoryWith(t, p, replayNames(), func(ens *zktest.Ensemble) {
			if sessions.Add(1) != 2 { // the first session of the load
				return
			}
			s := ens.Dial()
			defer s.Close()
			for i := range 10 {
				if err := s.Delete(t.Context(), fmt.Sprintf("/zkbench/names/cell-1/replay-0/round-0/~app/~item-%010d", 2*i+2), zk.AnyVersion); err != nil {
					t.Error(err)
				}
			}
		})
		f := doc.Cells[0].Fidelity
		if doc.Exit.Code != exitUnknown || !strings.Contains(doc.Exit.Reason, "not faithful") || f.Divergent != 10 || len(f.First) != 10 {
			t.Errorf("exit %+v, fidelity %+v, first %+v", doc.Exit, f, f.First)
		}
		if d := f.Differ; len(d) != 1 || d[0] != (results.Difference{What: "delete", Want: "ok", Got: zk.ErrNoNode.Error(), Count: 10}) {
			t.Errorf("differences %+v", d)
		}
	})
}

// steadyReads writes a trace of clients that read one znode 50 times a second for 40 s, at random times.
func steadyReads(t *testing.T) (file string, rate float64) {
	t.Helper()
	const clients = 10
	rate = 50
	r := &script{}
	r.add(trace.Event{Kind: trace.Prefill, Session: -1, Path: "/data", Size: 10})
	for i := range clients {
		r.add(trace.Event{Kind: trace.Open, Session: i, Timeout: 30 * time.Second})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for at := time.Duration(0); at < 40*time.Second; at += time.Duration(random.ExpFloat64() * float64(time.Second) / rate) {
		r.add(trace.Event{Kind: trace.Request, Session: random.IntN(clients), At: at, Op: trace.Get, Path: "/data", Size: 10})
	}
	return r.write(t), rate
}

// The capacity of a server in memory is found over the speed of a replay: how many times the recorded traffic it carries.
func TestThePlantedSpeedIsFoundInMemory(t *testing.T) {
	tier.Long(t, "a whole search, most of a minute; relatives: TestReplayInMemory, and TestAPlantedCapacityIsFoundInMemory")
	t.Parallel()
	const planted = 5
	file, rate := steadyReads(t)
	synctest.Test(t, func(t *testing.T) {
		m, p := memorySearchOf(t, replayed(file, asRecorded), overSpeed, capacity.Plan{From: 1, To: 20, Width: 0.1, Confirm: 6, Block: 2 * time.Second, Budget: 5 * time.Minute, Seed: 7,
			Goals: []capacity.Goal{{Name: "p90<100ms", Share: 0.1}}}, "session_timeout=30s", "ensemble=local:1")
		p.r.limits = []load.Limit{{Response: 100 * time.Millisecond}}
		m.turns.service = time.Duration(float64(time.Second) / (rate * planted))
		r := p.toTheEnd(t)
		if r.Outcome != capacity.Found || math.Abs(math.Log(r.Load/planted)) > math.Log(1.2) {
			t.Errorf("%s (%s): %.4g, %+v after %d probes; want about %d", r.Outcome, r.Reason, r.Load, r.Interval, len(r.Steps), planted)
		}
	})
}

// The same in front of a real server, by a proxy that serves one request after the other. If the noise of the machine hides it, the search is repeated with longer blocks.
func TestThePlantedSpeedIsFound(t *testing.T) {
	if !*long {
		t.Skip("takes minutes, on a quiet machine: -long")
	}
	const planted = 5
	file, rate := steadyReads(t)
	p, err := proxy.Start(t.Context(), proxy.Config{Upstreams: servers.Get(t, 1).Addresses()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s := turns{service: time.Duration(float64(time.Second) / (rate * planted))}
	p.Add(proxy.Rule{On: proxy.Request, Ops: []jute.Op{jute.OpGetData}, Do: proxy.Delay, Notify: func(proxy.Frame) { time.Sleep(time.Until(s.take())) }})
	for _, block := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		dir := out(t)
		o := zkbench(t, "capacity", "--replay", file, "--goal", "p50<200ms", "--servers", strings.Join(p.Addresses(), ","), "--from", fmt.Sprint(planted*0.43), "--width", "45%",
			"--confirm", "2", "--block", block.String(), "--budget", (60 * block).String(), "--out", dir)
		doc := searched(t, dir)
		if doc.Outcome == "found" && *doc.Low <= planted && *doc.High >= planted {
			return
		}
		t.Logf("blocks of %v: %s%s", block, o.stdout, o.stderr)
	}
	t.Errorf("no search has found that %v times the recorded load is what the server carries", planted)
}

// What is not sent as it was recorded is said before the load.
func TestAReplaySaysWhatItReplaces(t *testing.T) {
	t.Parallel()
	r := &script{}
	r.add(trace.Event{Kind: trace.Prefill, Session: -1, Path: "/box", Flags: trace.Container})
	r.add(trace.Event{Kind: trace.Open, Session: 0, Timeout: 4 * time.Second})
	for i := range 2 {
		r.add(trace.Event{Kind: trace.Request, Session: 0, Op: trace.Create, Path: fmt.Sprintf("/ttl-%d", i), Flags: trace.TTL, TTL: time.Minute})
		r.add(trace.Event{Kind: trace.Request, Session: 0, Op: trace.GetACL, Path: "/box"})
	}
	var said strings.Builder
	file := r.write(t)
	if _, err := (&app{setup: setup(), stderr: &said}).profile(replayed(file, asRecorded), nil); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%[1]s: left out: getACL, twice\n%[1]s: replaced: create with a TTL: persistent, twice\n%[1]s: replaced: znode that was there as a container: persistent, once\n", file)
	if said.String() != want {
		t.Errorf("said %q, want %q", said.String(), want)
	}
}

// Wrong uses are told before any load.
func TestReplayUsage(t *testing.T) {
	t.Parallel()
	file := clientsOfALock(2).write(t)
	missing := filepath.Join(t.TempDir(), "missing")
	empty := (&script{[]trace.Event{{Kind: trace.Open, Session: 0, Timeout: time.Second}}}).write(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"replay"}, "replay takes one trace"},
		{[]string{"replay", missing}, missing + ": no such file"},
		{[]string{"replay", "replay_test.go"}, "replay_test.go: trace: not a trace"},
		{[]string{"replay", empty}, empty + ": no request that can be replayed"},
		{[]string{"replay", file, "--speed", "fast"}, `--speed "fast": expected a number above 0`},
		{[]string{"replay", file, "--speed", "-1"}, `--speed "-1": expected a number above 0`},
		{[]string{"replay", file, "--speed", "NaN"}, `--speed "NaN": expected a number above 0`},
		{[]string{"replay", file, "--reads", "got=1"}, `--reads: "got=1"`},
		{[]string{"replay", file, "--set", "sessions=5"}, "sessions: must be the clients of the trace (3), got 5"},
		{[]string{"replay", file, "--servers", "127.0.0.1:1", "--share", "1/2", "--meet", "zk://127.0.0.1:1/meet"}, "the largest number of processes for them is 1, not 2"},
		{[]string{"capacity", "--replay", file, "locks", "--goal", "p99<50ms"}, "not both (remove locks)"},
		{[]string{"capacity", "--replay", file, "--over", "rate", "--goal", "p99<50ms"}, "--over and --replay cannot be combined"},
		{[]string{"ab", "--a", "locks", "--a-replay", file, "--b", "locks"}, "--a and --a-replay cannot be combined"},
	} {
		zkbench(t, c.args...).want(exitUsage, c.want)
	}
}

// fidelityOf returns the fidelity of the only cell of a result.
func fidelityOf(t *testing.T, dir string) (results.Cell, results.Fidelity) {
	t.Helper()
	doc, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Cells) != 1 || doc.Cells[0].Fidelity == nil {
		t.Fatalf("%d cells", len(doc.Cells))
	}
	return doc.Cells[0], *doc.Cells[0].Fidelity
}

// A recording of a lock, an ephemeral znode whose session expires, numbered names and conditional writes is replayed faithfully.
func TestReplay(t *testing.T) {
	t.Parallel()
	replaysTheLock(t, servers.Get(t, 1).Addresses()[0])
}

// The same on the oldest and the newest servers, whose files say that one session expired, as in the recording.
func TestReplayOnOtherVersions(t *testing.T) {
	tier.Long(t, "starts servers of two versions; relative: TestReplay")
	for _, version := range []string{"3.4.13", "3.9.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			ensembletest.NeedVersion(t, version)
			dir := filepath.Join(t.TempDir(), "servers")
			e := ensembletest.Start(t, 1, func(c *local.Config) { c.ZooKeeper, c.Dir = version, dir })
			replays := replaysTheLock(t, e.Addresses()[0])
			left, err := traffic.Analyze(t.Context(), []string{filepath.Join(dir, "server-1", "data")}, traffic.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if left.Sessions.Expired != replays {
				t.Errorf("the servers' log has %d sessions that expired, want the one of the recording in each of %d replays: %+v", left.Sessions.Expired, replays, left.Sessions)
			}
		})
	}
}

// replaysTheLock returns how many replays it took until one was in time.
func replaysTheLock(t *testing.T, address string) (replays int64) {
	t.Helper()
	file := clientsOfALock(30).write(t)
	replay := func() (o ending, cell results.Cell, f results.Fidelity) {
		replays++
		out := filepath.Join(t.TempDir(), "result")
		o = zkbench(t, "replay", file, "--servers", address, "--out", out)
		cell, f = fidelityOf(t, out)
		return o, cell, f
	}
	o, cell, f := replay()
	for range 2 {
		if f.Late == 0 {
			break
		}
		o, cell, f = replay() // the machine was too slow for the times of the trace
	}
	if f.Faithful() {
		o.want(exitOK, "was faithful: ")
	} else { // the machine was too slow
		o.want(exitUnknown, "was not faithful: ", "sent more than 1 s late")
	}
	if f.Unsent+f.Unmapped != 0 || len(f.Differ) != 0 || f.Vanished != 1 || f.Requests != cell.Due || cell.Loop != "open" {
		t.Errorf("fidelity %+v\nof %d requests", f, cell.Due)
	}
	wantEmpty(t, address)
	return replays
}

// A comparison of replays replays each side's trace once in each pair, and concludes nothing from one pair.
func TestABOfReplays(t *testing.T) {
	t.Parallel()
	address, dir := servers.Get(t, 1).Addresses()[0], out(t)
	a, b := clientsOfALock(30).write(t), clientsOfALock(30).write(t)
	o := zkbench(t, "ab", "--a-replay", a, "--b-replay", b, "--servers", address, "--pairs", "1", "--metric", "throughput", "--out", dir)
	o.want(exitUnknown, "INCONCLUSIVE", "pair 1 of 1: throughput")
	c := comparison(t, dir)
	for trace, side := range map[string]results.Side{a: c.Baseline, b: c.Candidate} {
		if len(side.Runs) != 1 {
			t.Fatalf("runs %q", side.Runs)
		}
		if cell, f := fidelityOf(t, side.Runs[0]); cell.Parameters["trace"] != trace || f.Requests == 0 || f.Unsent+f.Unmapped != 0 {
			t.Errorf("%s: parameters %v, fidelity %+v", side.Name, cell.Parameters, f)
		}
	}
	wantEmpty(t, address)
}
