package ensemble

import (
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

func TestParseTarget(t *testing.T) {
	tests := []struct {
		text, want string // want is the target's String, or what the error says after "!"
	}{
		{"local", "local:3"},
		{"local:1", "local:1"},
		{" local:5 ", "local:5"},
		{"local:2", "!1, 3, 5 or 7"},
		{"local:2181", "!1, 3, 5 or 7"},
		{"local:x", "!not a number"},
		{"local:0", "!0 servers"},
		{"compose:7", "!1, 3 or 5"},
		{"compose:0", "!0 servers"},
		{"compose:3+1", "compose:3+1"},
		{"compose:5+1", "!compose:3+1"},
		{"compose:3+2", "!compose:3+1"},
		{"compose:3+", "!not a number"},
		{"compose:4", "!1, 3 or 5"},
		{"local:3+1", "!compose:3+1"},
		{"zk1:2181,zk2:2182", "zk1:2181,zk2:2182"},
		{"zk1, zk2", "zk1:2181,zk2:2181"},
		{"[::1]:2181", "[::1]:2181"},
		{"::1", "[::1]:2181"},
		{"10.0.0.1", "10.0.0.1:2181"},
		{"zk1:2181/app", "!without a path"},
		{"zk1:0", "!port"},
		{"zk1:", "!port"},
		{":2181", "!host"},
		{"zk1,zk1:2181", "!duplicate address"},
		{"", "!empty"},
		{"zk1:99999,zk2:-1", "!-1"}, // both problems are reported
	}
	for _, test := range tests {
		target, err := ParseTarget(test.text)
		if says, wrong := strings.CutPrefix(test.want, "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("ParseTarget(%q) = %v, %v, want an error that says %q", test.text, target, err, says)
			}
			continue
		}
		if err != nil || target.String() != test.want {
			t.Errorf("ParseTarget(%q) = %v, %v, want %s", test.text, target, err, test.want)
		}
	}
}

func TestJudge(t *testing.T) {
	plenty := here{MaxFiles: 100000, OpenFiles: 10}
	fine := func(n int) facts {
		return facts{
			Stats:  ServerStats{Server: n, Stats: Stats{MaxFiles: 20000, OpenFiles: 50}},
			Limits: Limits{0, 4 * time.Second, 40 * time.Second},
		}
	}
	with := func(f facts, change func(*facts)) facts { change(&f); return f }
	down := with(fine(3), func(f *facts) { f.Down, f.Stats.Err = ErrUnreachable, ErrUnreachable })
	need := Need{Sessions: 300, SessionTimeout: 10 * time.Second}
	tests := []struct {
		name    string
		need    Need
		servers []facts
		local   here
		want    []string // in order; "fatal" before what must be fatal
	}{
		{"nothing is wrong", need, []facts{fine(1), fine(2), fine(3)}, plenty, nil},
		{"a server down is a warning", need, []facts{fine(1), fine(2), down}, plenty, []string{"server 3 of 3"}},
		{"nobody serves is fatal, and told before who is down", need, []facts{down}, plenty, []string{"fatal no quorum", "server 3 of 1"}},
		{"too few files here", need, []facts{fine(1)}, here{MaxFiles: 256, OpenFiles: 6}, []string{"fatal 364 open files"}},
		{"files here unknown", need, []facts{fine(1)}, here{Err: errors.New("no /proc")}, []string{"unknown"}},
		{"just enough files here", need, []facts{fine(1)}, here{MaxFiles: 370, OpenFiles: 6}, nil},
		{"too few files there", need, []facts{with(fine(1), func(f *facts) { f.Stats.MaxFiles = 200 })}, plenty,
			[]string{"fatal can open 150 more files"}},
		{"the limit of files there is not told", need, []facts{with(fine(1), func(f *facts) { f.Stats.MaxFiles = 0 })}, plenty, nil},
		{"maxClientCnxns counts the share of one server, which here suffices", need,
			[]facts{with(fine(1), func(f *facts) { f.Limits.MaxClientConnections = 108 }), fine(2), fine(3)}, plenty, nil},
		{"with one server down the share is larger", need,
			[]facts{with(fine(1), func(f *facts) { f.Limits.MaxClientConnections = 108 }), fine(2), down}, plenty,
			[]string{"fatal maxClientCnxns", "server 3 of 3"}},
		{"a session timeout below the minimum would be raised", Need{Sessions: 1, SessionTimeout: time.Second}, []facts{fine(1)}, plenty, []string{"fatal of 1s to 4s"}},
		{"a session timeout above the maximum would be cut", Need{Sessions: 1, SessionTimeout: time.Minute}, []facts{fine(1)}, plenty, []string{"fatal of 1m0s to 40s"}},
		{"any session timeout will do", Need{Sessions: 1}, []facts{fine(1)}, plenty, nil},
		{"a proxy needs two files more for each session", Need{Sessions: 300, Proxied: true}, []facts{fine(1)}, here{MaxFiles: 370, OpenFiles: 6},
			[]string{"fatal 964 open files"}},
		{"a server that the run takes down makes the share of the others larger", Need{Sessions: 300, Down: 1},
			[]facts{with(fine(1), func(f *facts) { f.Limits.MaxClientConnections = 108 }), fine(2), fine(3)}, plenty,
			[]string{"fatal maxClientCnxns"}},
		{"four-letter words off are warnings", need,
			[]facts{with(fine(1), func(f *facts) { f.Stats.Err, f.LimitsErr = ErrWordsOff, ErrWordsOff })}, plenty,
			[]string{"does not report its state", "does not report maxClientCnxns"}},
	}
	for _, test := range tests {
		got := judge(test.need, test.servers, test.local)
		if len(got) != len(test.want) {
			t.Errorf("%s: judge() = %q, want %q", test.name, got, test.want)
			continue
		}
		for i, p := range got {
			says, isFatal := strings.CutPrefix(test.want[i], "fatal ")
			if p.Fatal != isFatal || !strings.Contains(p.What, says) || p.Remedy == "" {
				t.Errorf("%s: judge()[%d] = fatal %v %q, want %q", test.name, i, p.Fatal, p, test.want[i])
			}
		}
	}
}

func TestTyped(t *testing.T) {
	old := typed(parseMntr("zk_version\t3.4.13-2d71af4dbe22557fda74f9a9b4309b15a7487f03, built on 06/29/2018\nzk_avg_latency\t2\n" +
		"zk_watch_count\t7\nzk_server_state\tleader\nnot a line\n"))
	if old.Version != "3.4.13" || old.State != "leader" || old.Watches != 7 || old.AvgLatency != 2*time.Millisecond {
		t.Errorf("typed(3.4) = %+v", old)
	}
	missing := strings.Join(old.Missing, " ")
	for _, name := range []string{"zk_cnt_fsynctime", "zk_outstanding_requests"} {
		if !strings.Contains(missing, name) {
			t.Errorf("typed(3.4).Missing = %s, lacks %s", missing, name)
		}
	}
	if strings.Contains(missing, "zk_watch_count") {
		t.Errorf("typed(3.4).Missing = %s, has zk_watch_count", missing)
	}
	newer := typed(parseMntr("zk_avg_latency\t0.5714\nzk_sum_fsynctime\t9\n"))
	if newer.AvgLatency != 571400*time.Nanosecond || newer.FsyncTotal != 9*time.Millisecond {
		t.Errorf("typed(3.8) = %v %v, want 571.4 us and 9 ms", newer.AvgLatency, newer.FsyncTotal)
	}
}

func TestParseAdmin(t *testing.T) {
	object, err := decodeAdmin(strings.NewReader(`{"version": "3.8.0-x", "watch_count": 3, "x": true, "command": "monitor", "error": null}`))
	values, texts := flat(object)
	if err != nil || values["watch_count"] != 3 || texts["version"] != "3.8.0-x" {
		t.Errorf("decodeAdmin() = %v, %v, %v", values, texts, err)
	}
	_, err = decodeAdmin(strings.NewReader(`{"command": "monitor", "error": "This ZooKeeper instance is not currently serving requests"}`))
	if !errors.Is(err, ErrNoQuorum) {
		t.Errorf("decodeAdmin(not serving) = %v, want ErrNoQuorum", err)
	}
	for _, text := range []string{`{"error": "no such command"}`, `<html>`, ``} {
		if _, err := decodeAdmin(strings.NewReader(text)); err == nil {
			t.Errorf("decodeAdmin(%q) = nil, want an error", text)
		}
	}
}

func TestParseConf(t *testing.T) {
	got, err := parseConf("clientPort=2181\nmaxClientCnxns=60\nminSessionTimeout=4000\nmaxSessionTimeout=40000\n")
	if want := (Limits{60, 4 * time.Second, 40 * time.Second}); err != nil || got != want {
		t.Errorf("parseConf() = %v, %v, want %v", got, err, want)
	}
	if got, err := parseConf("clientPort=2181\n"); err == nil {
		t.Errorf("parseConf(no limits) = %v, want an error: silence is no limit of 0", got)
	}
}

func TestLeaderOf(t *testing.T) {
	follower, leading := ServerStats{Server: 1, Stats: Stats{State: "follower"}}, ServerStats{Server: 2, Stats: Stats{State: "leader"}}
	if n, err := leaderOf([]ServerStats{follower, leading}); n != 2 || err != nil {
		t.Errorf("leaderOf() = %d, %v, want 2", n, err)
	}
	if n, err := leaderOf([]ServerStats{follower, {Err: ErrUnreachable}}); !errors.Is(err, ErrNoQuorum) {
		t.Errorf("leaderOf(no leader) = %d, %v, want ErrNoQuorum", n, err)
	}
}

func TestMntrOfARealFollower(t *testing.T) {
	text, err := os.ReadFile("testdata/mntr-3.8.0-follower.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := typed(parseMntr(string(text)))
	if len(s.Missing) != 0 || s.Version != "3.8.0" || s.State != "follower" || s.QuorumSize != 3 || s.Uptime != 7320*time.Millisecond {
		t.Errorf("missing %v, version %q, state %q, quorum of %d, uptime %v", s.Missing, s.Version, s.State, s.QuorumSize, s.Uptime)
	}
	if s.PacketsReceived != 392 || s.PacketsSent != 475 || s.Watches != 8 || s.MaxLatency != 209*time.Millisecond {
		t.Errorf("packets %d and %d, watches %d, longest latency %v", s.PacketsReceived, s.PacketsSent, s.Watches, s.MaxLatency)
	}
	if s.Requests != 158+221 || s.RequestTotal != (3156+489)*time.Millisecond {
		t.Errorf("%d requests of %v, want the updates and the reads", s.Requests, s.RequestTotal)
	}
	if s.Fsyncs != 361 || s.FsyncTotal != 1106*time.Millisecond || s.Flushes != 361 || s.FlushTotal != 1327*time.Millisecond {
		t.Errorf("%d fsyncs of %v, %d flushes of %v", s.Fsyncs, s.FsyncTotal, s.Flushes, s.FlushTotal)
	}
	if s.Lacks("zk_watch_count", "zk_cnt_fsynctime") || !typed(parseMntr("zk_version\t3.4.13\n")).Lacks("zk_watch_count", "zk_cnt_fsynctime") {
		t.Error("Lacks does not tell what is missing")
	}
}

func TestPlainVersion(t *testing.T) {
	plain := []struct{ text, want string }{
		{"3.8.0-${mvngit.commit.id}, built on 2024", "3.8.0"},
		{" 3.5.9-83df9301aa5c2a5d284a9940177808c01bc35cef, built on 01/06/2021", "3.5.9"},
		{"3.10.0-SNAPSHOT-abc", "3.10.0-SNAPSHOT"},
		{"3.5.4-beta-7f51e5b68cf2f80176ff944a9ebd2abbc65e7327", "3.5.4-beta"},
		{"unknown", ""},
	}
	for _, test := range plain {
		if got := PlainVersion(test.text); got != test.want {
			t.Errorf("PlainVersion(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

// A server that accepts a question but does not answer, as one that has just started to listen may do, must not be waited for.
func TestAServerThatSaysNothingDoesNotAnswer(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if Dialer(nil).Answers(t.Context(), silent.Addr().String()) {
		t.Error("it answers")
	}
}

// The kind of an error is reported once, however many servers have it.
func TestNoServerIsReachable(t *testing.T) {
	down := unreachable{errors.New("connection refused")}
	err := oneServes([]facts{{Stats: ServerStats{Server: 1}, Down: down}, {Stats: ServerStats{Server: 2}, Down: down}})
	if !errors.Is(err, ErrUnreachable) || !errors.Is(down, ErrUnreachable) {
		t.Fatalf("%v is not ErrUnreachable", err)
	}
	if text := err.Error(); strings.Count(text, "unreachable") != 1 || strings.Count(text, "connection refused") != 2 {
		t.Errorf("oneServes says %q", text)
	}
}
