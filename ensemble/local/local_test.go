package local

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/driver"
)

// TestThreeServers covers the life of one ensemble, because a start takes seconds: each step leaves it complete.
func TestThreeServers(t *testing.T) {
	needServers(t)
	l := start(t, small(3))
	ctx := t.Context()
	steps := []struct {
		name string
		do   func(t *testing.T, ctx context.Context, l *Local)
	}{
		{"every server tells its state", threeTell},
		{"the user's own servers", threeConnect},
		{"a killed leader is replaced", threeKillLeader},
		{"a paused server keeps silent", threePause},
		{"one of three is no quorum", threeNoQuorum},
		{"what cannot be done", threeRefusals},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) { step.do(t, ctx, l) })
	}
}

func threeTell(t *testing.T, ctx context.Context, l *Local) {
	states := map[string]int{}
	for i, s := range l.Stats(ctx) {
		if s.Err != nil {
			t.Fatal(s.Err)
		}
		states[s.State]++
		if s.Server != i+1 || s.Address != l.Addresses()[i] || s.From != "mntr" || s.Version == "" {
			t.Errorf("Stats()[%d] = server %d, %s, from %s, version %q", i, s.Server, s.Address, s.From, s.Version)
		}
		if len(s.Missing) != 0 || s.Znodes == 0 || s.Fsyncs == 0 || s.MaxFiles == 0 || s.PacketsSent == 0 {
			t.Errorf("server %d: missing %v, %+v", s.Server, s.Missing, s.Stats)
		}
		if s.Usage == nil || s.Usage.CPU == 0 || s.Usage.RSS == 0 {
			t.Errorf("server %d: usage %+v, want CPU and RSS", s.Server, s.Usage)
		}
	}
	if states["leader"] != 1 || states["follower"] != 2 {
		t.Errorf("states %v, want one leader and two followers", states)
	}
	about := l.Describe()
	if about.Kind != "local" || about.Servers != 3 || about.Fsync != "on" || about.Source == "" || about.Version == "" || about.Java == "" {
		t.Errorf("Describe() = %+v", about)
	}
	if problems := l.Preflight(ctx, ensemble.Need{Sessions: 100, SessionTimeout: 4 * time.Second}); fatal(problems) != 0 {
		t.Errorf("Preflight() = %v, want nothing fatal", problems)
	}
	if problems := l.Preflight(ctx, ensemble.Need{Sessions: 100, SessionTimeout: time.Hour}); fatal(problems) != 3 {
		t.Errorf("Preflight(timeout of an hour) = %v, want a fatal problem per server", problems)
	}
}

func fatal(problems []ensemble.Problem) int {
	n := 0
	for _, p := range problems {
		if p.Fatal {
			n++
		}
	}
	return n
}

func threeConnect(t *testing.T, ctx context.Context, l *Local) {
	e, err := ensemble.Connect(ctx, ensemble.ExternalConfig{Addresses: l.Addresses()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	about := e.Describe()
	if about.Kind != "external" || about.Version != l.Describe().Version || about.Fsync != "unknown" || e.Servers() != 3 {
		t.Errorf("Describe() = %+v", about)
	}
	for _, s := range e.Stats(ctx) {
		if s.Err != nil || s.State == "" || s.Usage != nil {
			t.Errorf("server %d: state %q, usage %v, error %v", s.Server, s.State, s.Usage, s.Err)
		}
	}
	if problems := e.Preflight(ctx, ensemble.Need{Sessions: 1 << 30}); fatal(problems) != 4 {
		t.Errorf("Preflight(2^30 sessions) = %v, want too few files here and on each server", problems)
	}
}

func threeKillLeader(t *testing.T, ctx context.Context, l *Local) {
	old := leader(t, ctx, l)
	alive := l.Usage()[old-1]
	if err := l.Kill(ctx, old); err != nil {
		t.Fatal(err)
	}
	dead := l.Usage()[old-1]
	if dead == nil || dead.Ended < alive.CPU || dead.CPU != 0 {
		t.Errorf("a server that had used %+v used %+v when it was killed", alive, dead)
	}
	if err := l.Kill(ctx, old); !errors.Is(err, ensemble.ErrNotRunning) {
		t.Errorf("second Kill(%d) = %v, want ErrNotRunning", old, err)
	}
	if err := l.Ready(ctx); err != nil {
		t.Fatalf("Ready() with two of three: %v", err)
	}
	if now := leader(t, ctx, l); now == old {
		t.Errorf("leader %d after it was killed", now)
	}
	problems := l.Preflight(ctx, ensemble.Need{Sessions: 10})
	if len(problems) == 0 || fatal(problems) != 0 || !strings.Contains(problems[0].What, "of 3") {
		t.Errorf("Preflight() = %v, want a warning that one of 3 is down", problems)
	}
	if err := l.Ended(); err != nil {
		t.Errorf("Ended() = %v, want nil: the end was asked for", err)
	}
	restart(t, ctx, l, old)
	if again := l.Usage()[old-1]; again.Ended != dead.Ended || again.CPU == 0 || again.Start == alive.Start {
		t.Errorf("a server that had used %+v when it was killed used %+v after its restart", dead, again)
	}
}

func leader(t *testing.T, ctx context.Context, l *Local) int {
	t.Helper()
	n, err := l.Leader(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func restart(t *testing.T, ctx context.Context, l *Local, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		if err := l.Restart(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Ready(ctx); err != nil {
		t.Fatal(err)
	}
}

func threePause(t *testing.T, ctx context.Context, l *Local) {
	follower := leader(t, ctx, l)%3 + 1
	if err := l.Pause(ctx, follower); err != nil {
		t.Fatal(err)
	}
	for _, s := range l.Stats(ctx) {
		if paused := s.Server == follower; paused != errors.Is(s.Err, ensemble.ErrUnreachable) || paused != (s.Err != nil) {
			t.Errorf("server %d (paused: %v): error %v", s.Server, paused, s.Err)
		}
	}
	if err := l.Resume(ctx, follower); err != nil {
		t.Fatal(err)
	}
	if err := l.Ready(ctx); err != nil {
		t.Fatal(err)
	}
}

func threeNoQuorum(t *testing.T, ctx context.Context, l *Local) {
	if err := l.Stop(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if err := l.Pause(ctx, 2); err != nil {
		t.Fatal(err)
	}
	if err := l.Stop(ctx, 2); err != nil { // gets SIGTERM although it was paused
		t.Fatal(err)
	}
	alone := l.Addresses()[2]
	err := driver.Poll(ctx, func() bool { return errors.Is(ensemble.Dialer(nil).Serves(ctx, alone), ensemble.ErrNoQuorum) })
	if err != nil {
		t.Fatal(err)
	}
	if n, err := l.Leader(ctx); !errors.Is(err, ensemble.ErrNoQuorum) {
		t.Errorf("Leader() = %d, %v, want ErrNoQuorum", n, err)
	}
	if problems := l.Preflight(ctx, ensemble.Need{Sessions: 1}); fatal(problems) != 1 || !strings.Contains(problems[0].What, "no quorum") {
		t.Errorf("Preflight() = %v, want no quorum, fatal and first", problems)
	}
	if _, err := ensemble.Connect(ctx, ensemble.ExternalConfig{Addresses: []string{alone}}); !errors.Is(err, ensemble.ErrNoQuorum) {
		t.Errorf("Connect(server without quorum) = %v, want ErrNoQuorum", err)
	}
	if _, err := ensemble.Connect(ctx, ensemble.ExternalConfig{Addresses: l.Addresses()[:2]}); !errors.Is(err, ensemble.ErrUnreachable) {
		t.Errorf("Connect(stopped servers) = %v, want ErrUnreachable", err)
	}
	restart(t, ctx, l, 1, 2)
}

func threeRefusals(t *testing.T, ctx context.Context, l *Local) {
	if err := l.Restart(ctx, 1); !errors.Is(err, ensemble.ErrRunning) {
		t.Errorf("Restart(running) = %v, want ErrRunning", err)
	}
	for _, n := range []int{0, 4} {
		if err := l.Kill(ctx, n); err == nil {
			t.Errorf("Kill(%d) = nil, want an error", n)
		}
	}
}

// A server that dies by itself is never overlooked: Ended reports it at once, Close at the end, and its log stays.
func TestServerThatEndsByItself(t *testing.T) {
	needServers(t)
	t.Setenv("TMPDIR", t.TempDir())
	l, err := Start(t.Context(), small(1))
	if err != nil {
		t.Fatal(err)
	}
	p := l.All()[0].process.Load()
	if err := p.signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := p.ended(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Ended(); !errors.Is(err, ensemble.ErrServerEnded) {
		t.Errorf("Ended() = %v, want ErrServerEnded", err)
	}
	if err := l.Close(); !errors.Is(err, ensemble.ErrServerEnded) || !strings.Contains(err.Error(), l.All()[0].log()) {
		t.Errorf("Close() = %v, want ErrServerEnded and %s", err, l.All()[0].log())
	}
	sweep(os.TempDir())
	if _, err := os.Stat(l.All()[0].log()); err != nil {
		t.Errorf("the log that the error names: %v", err)
	}
	if err := l.Kill(t.Context(), 1); !errors.Is(err, ensemble.ErrClosed) {
		t.Errorf("Kill after Close = %v, want ErrClosed", err)
	}
}

func TestFourLetterWordsOff(t *testing.T) {
	needServers(t)
	cfg := small(1)
	cfg.AdminServer = true
	cfg.Extra = map[string]string{"4lw.commands.whitelist": "srvr", "maxClientCnxns": "60"}
	l := start(t, cfg)
	ctx := t.Context()

	s := l.Stats(ctx)[0]
	for end := time.Now().Add(time.Minute); s.Err != nil && time.Now().Before(end); s = l.Stats(ctx)[0] {
		time.Sleep(100 * time.Millisecond) // on a busy machine an AdminServer can take seconds for its first answer
	}
	if s.Err != nil || s.From != "AdminServer" || s.State != "standalone" || s.Znodes == 0 || len(s.Missing) != 0 {
		t.Errorf("Stats() = %+v, want the AdminServer's", s)
	}
	problems := l.Preflight(ctx, ensemble.Need{Sessions: 60})
	if fatal(problems) != 1 || !strings.Contains(problems[0].What, "maxClientCnxns") {
		t.Errorf("Preflight(60 sessions, maxClientCnxns=60) = %v, want that it is too small", problems)
	}

	// The same server as an external one, whose AdminServer is on an unexpected port.
	e, err := ensemble.Connect(ctx, ensemble.ExternalConfig{Addresses: l.Addresses(), AdminPort: l.ports[0].Quorum})
	if err != nil {
		t.Fatal(err)
	}
	err = e.Stats(ctx)[0].Err
	if !errors.Is(err, ensemble.ErrWordsOff) || !strings.Contains(err.Error(), "4lw.commands.whitelist=mntr") {
		t.Errorf("Stats() error = %v, want ErrWordsOff and the remedy", err)
	}
	if version := e.Describe().Version; version != l.Describe().Version {
		t.Errorf("Describe().Version = %q, want srvr's %q", version, l.Describe().Version)
	}
	problems = e.Preflight(ctx, ensemble.Need{Sessions: 10})
	if len(problems) != 2 || fatal(problems) != 0 {
		t.Errorf("Preflight() = %v, want two warnings: no state, no limits", problems)
	}
}

func TestStartFails(t *testing.T) {
	needServers(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "notes"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*Config)
		is     error
		says   []string
		keeps  bool // keeps a directory with a log
	}{
		{"a configuration the server refuses: its log is named and quoted",
			func(c *Config) { c.Extra = map[string]string{"tickTime": "banana"} },
			ensemble.ErrServerEnded, []string{"server 1", "server.log", "banana"}, true},
		{"a port that was free when it was chosen: tried again, then given up",
			func(c *Config) { c.Extra = map[string]string{"clientPort": port} },
			ensemble.ErrPortTaken, []string{"Address already in use", "server.log"}, true},
		{"a port that was asked for",
			func(c *Config) { c.ClientPorts = []int{taken.Addr().(*net.TCPAddr).Port} },
			ensemble.ErrPortTaken, []string{port}, false},
		{"a heap that Java refuses",
			func(c *Config) { c.Heap = "plenty" }, ensemble.ErrNotReady, []string{"plenty"}, true},
		{"no ZooKeeper where it should be",
			func(c *Config) { c.ZooKeeper = full }, ensemble.ErrNoZooKeeper, []string{full}, false},
		{"no Java where it should be",
			func(c *Config) { c.Java = full }, ensemble.ErrNoJava, []string{full}, false},
		{"a directory with something in it",
			func(c *Config) { c.Dir = full }, nil, []string{full, "not empty"}, false},
		{"an even number of servers",
			func(c *Config) { c.Servers = 2 }, nil, []string{"1, 3, 5 or 7"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			cfg := small(1)
			test.change(&cfg)
			l, err := Start(t.Context(), cfg)
			if err == nil {
				l.Close()
				t.Fatal("Start() = nil, want an error")
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("Start() = %v, want %v", err, test.is)
			}
			for _, text := range test.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("Start() = %v, does not say %q", err, text)
				}
			}
			if left := dirsIn(t, os.TempDir()); (len(left) == 1) != test.keeps {
				t.Errorf("directories left: %v, want one: %v", left, test.keeps)
			}
		})
	}
}

func TestStartCancelled(t *testing.T) {
	needServers(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, small(3)); !errors.Is(err, context.Canceled) {
		t.Errorf("Start(cancelled) = %v, want context.Canceled", err)
	}
	if left := dirsIn(t, os.TempDir()); len(left) != 0 {
		t.Errorf("directories left: %v, want none", left)
	}
}

// The process that has the id of an ended one now is somebody else's.
func TestUsageOfAnEndedProcess(t *testing.T) {
	var s server
	s.process.Store(endedProcess(os.Getpid()))
	if u := s.usage(); u != nil {
		t.Errorf("usage() = %+v, want nil", u)
	}
}
