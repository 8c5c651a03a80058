package compose_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/compose"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// TestMain lets the test binary play the process that is killed: if this variable is set, it starts a server and waits.
func TestMain(m *testing.M) {
	if os.Getenv("ZKBENCH_TEST_VICTIM") != "" {
		if _, err := compose.Start(context.Background(), compose.Config{Servers: 1}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("up")
		select {}
	}
	os.Exit(m.Run())
}

// left returns what Docker has of the ensembles that a process started, whatever other tests run at the same time: containers, volumes, networks.
func left(t *testing.T, pid int) []string {
	t.Helper()
	ofProcess := fmt.Sprintf(`name=^/?zkbench-run-[0-9a-z]+-%d-`, pid)
	var all []string
	for _, list := range [][]string{{"ps", "-aq"}, {"volume", "ls", "-q"}, {"network", "ls", "-q"}} {
		out, err := exec.Command("docker", append(list, "--filter", "label=zkbench=ensemble", "--filter", ofProcess)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Fields(string(out))...)
	}
	return all
}

// inContainers starts servers, and checks that nothing is left of them.
func inContainers(t *testing.T, cfg compose.Config) *compose.Compose {
	t.Helper()
	before := len(left(t, os.Getpid()))
	c, err := compose.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
		if after := left(t, os.Getpid()); len(after) != before {
			t.Errorf("%d containers, volumes and networks are left, %d before", len(after), before)
		}
	})
	return c
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// answer says whether a server answers a client.
func answers(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Second))
	fmt.Fprint(conn, "ruok")
	text, _ := bufio.NewReader(conn).ReadString(0)
	return text == "imok"
}

// becomes waits until the servers report that a server is in a state, "" meaning that it does not serve.
func becomes(t *testing.T, c *compose.Compose, number int, state string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		s := c.Stats(t.Context())[number-1]
		if s.State == state || state == "" && s.Err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("server %d is %q (%v), want %q", number, s.State, s.Err, state)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestServersInContainers(t *testing.T) {
	tier.Long(t, "containers; package local has the same for processes")
	ensembletest.NeedDocker(t)
	ctx := t.Context()
	c := inContainers(t, compose.Config{MaxSessionTimeout: 77 * time.Second})
	about := c.Describe()
	if about.Kind != "compose" || about.Version != "3.8.0" || about.Servers != 3 || about.Fsync != "on" || about.Tick != 2*time.Second ||
		!strings.Contains(about.Source, compose.BuiltImage) {
		t.Errorf("Describe() = %+v", about)
	}
	for _, p := range c.Preflight(ctx, ensemble.Need{Sessions: 100, SessionTimeout: 77 * time.Second}) {
		t.Errorf("Preflight: %v", p)
	}
	for _, s := range c.Stats(ctx) {
		if s.Err != nil || s.Usage == nil || s.Usage.CPU == 0 {
			t.Errorf("Stats() of server %d: usage %+v, error %v", s.Server, s.Usage, s.Err)
		}
	}
	t.Run("processes", func(t *testing.T) { injectIntoProcesses(t, c) })
	t.Run("network", func(t *testing.T) { injectIntoNetwork(t, c) })
	t.Run("degrade", func(t *testing.T) { degrade(t, c) })
	t.Run("wrong server", func(t *testing.T) {
		if err := c.Kill(ctx, 4); err == nil || !strings.Contains(err.Error(), "numbered 1 to 3") {
			t.Errorf("Kill(4) = %v", err)
		}
	})
}

func injectIntoProcesses(t *testing.T, c *compose.Compose) {
	ctx := t.Context()
	old, err := c.Leader(ctx)
	must(t, "Leader()", err)
	must(t, "Kill()", c.Kill(ctx, old))
	if err := c.Kill(ctx, old); !errors.Is(err, ensemble.ErrNotRunning) {
		t.Errorf("second Kill() = %v, want ErrNotRunning", err)
	}
	must(t, "Ready() of the others", c.Ready(ctx))
	if next, err := c.Leader(ctx); err != nil || next == old {
		t.Errorf("Leader() after its end = %d, %v", next, err)
	}
	if err := c.Ended(); err != nil {
		t.Errorf("Ended() = %v, though it was killed on purpose", err)
	}
	must(t, "Restart()", c.Restart(ctx, old))
	if err := c.Restart(ctx, old); !errors.Is(err, ensemble.ErrRunning) {
		t.Errorf("second Restart() = %v, want ErrRunning", err)
	}
	must(t, "Ready() of all", c.Ready(ctx))

	follower := old%3 + 1
	must(t, "Pause()", c.Pause(ctx, follower))
	if answers(ctx, c.Addresses()[follower-1]) {
		t.Error("a paused server answers")
	}
	must(t, "Resume()", c.Resume(ctx, follower))
	must(t, "second Resume()", c.Resume(ctx, follower))
	must(t, "Pause()", c.Pause(ctx, follower))
	must(t, "Stop() of a paused server", c.Stop(ctx, follower))
	must(t, "Restart()", c.Restart(ctx, follower))
	must(t, "Ready()", c.Ready(ctx))
}

func injectIntoNetwork(t *testing.T, c *compose.Compose) {
	ctx := t.Context()
	must(t, "Partitions()", c.Partitions(ctx, ensemble.Everybody))
	leads, err := c.Leader(ctx)
	must(t, "Leader()", err)
	follower := leads%3 + 1
	address := c.Addresses()[follower-1]

	must(t, "Disconnect(clients)", c.Disconnect(ctx, follower, ensemble.Clients))
	if answers(ctx, address) {
		t.Error("a server that is cut off from the clients answers them")
	}
	must(t, "Reconnect()", c.Reconnect(ctx, follower))
	becomes(t, c, follower, "follower") // its peers could reach it all the time

	must(t, "Disconnect(servers)", c.Disconnect(ctx, follower, ensemble.Peers))
	becomes(t, c, follower, "") // without a quorum it does not serve
	if !answers(ctx, address) {
		t.Error("a server that is cut off from the others does not answer clients")
	}
	must(t, "Stop()", c.Stop(ctx, follower)) // the cut outlives its server
	must(t, "Restart()", c.Restart(ctx, follower))
	if s := c.Stats(ctx)[follower-1]; s.Err == nil {
		t.Errorf("a server that is cut off from the others is %s after its restart", s.State)
	}
	must(t, "Reconnect()", c.Reconnect(ctx, follower))
	must(t, "Ready()", c.Ready(ctx))

	must(t, "Disconnect(everybody) of the leader", c.Disconnect(ctx, leads, ensemble.Everybody))
	deadline := time.Now().Add(time.Minute)
	for next := leads; next == leads; {
		if next, err = c.Leader(ctx); err != nil {
			next = leads
		}
		if time.Now().After(deadline) {
			t.Fatalf("the others have no leader: %v", err)
		}
	}
	must(t, "Reconnect()", c.Reconnect(ctx, leads))
	must(t, "Ready()", c.Ready(ctx))
	if err := c.Disconnect(ctx, 1, "nobody"); err == nil {
		t.Error("Disconnect from nobody is no error")
	}
	must(t, "Reconnect()", c.Reconnect(ctx, 1))
}

// Whether packets can be delayed and lost depends on the kernel: either they can, or the error says what is missing.
func degrade(t *testing.T, c *compose.Compose) {
	ctx := t.Context()
	if err := c.Degrades(ctx); err != nil {
		if !strings.Contains(err.Error(), "sch_netem") || c.SetLatency(ctx, 1, time.Millisecond) == nil {
			t.Errorf("Degrades() = %v, want what is missing and the remedy", err)
		}
		return
	}
	ask := func() time.Duration {
		began := time.Now()
		if !answers(ctx, c.Addresses()[0]) {
			t.Fatal("the server does not answer")
		}
		return time.Since(began)
	}
	must(t, "SetLatency()", c.SetLatency(ctx, 1, 300*time.Millisecond))
	if took := ask(); took < 300*time.Millisecond {
		t.Errorf("an answer took %v through a delay of 300 ms", took)
	}
	must(t, "SetLatency(0)", c.SetLatency(ctx, 1, 0))
	must(t, "SetLoss()", c.SetLoss(ctx, 1, 100))
	if answers(ctx, c.Addresses()[0]) {
		t.Error("a server answers though all its packets are lost")
	}
	must(t, "SetLoss(0)", c.SetLoss(ctx, 1, 0))
	must(t, "Ready()", c.Ready(ctx))
}

// A container that ends by itself is reported, with the file that contains its log.
func TestAContainerThatEndsByItself(t *testing.T) {
	tier.Long(t, "containers; package local has the same for processes")
	ensembletest.NeedDocker(t)
	t.Setenv("TMPDIR", t.TempDir())
	c, err := compose.Start(t.Context(), compose.Config{Servers: 1})
	must(t, "Start()", err)
	host, port, _ := net.SplitHostPort(c.Addresses()[0])
	id, err := exec.Command("docker", "ps", "-q", "--filter", "publish="+port).Output()
	if err != nil || host != "127.0.0.1" {
		t.Fatal(host, err)
	}
	must(t, "docker kill", exec.Command("docker", "kill", strings.TrimSpace(string(id))).Run())
	if c.Stats(t.Context())[0].Err == nil {
		t.Error("a server that has ended tells its figures")
	}
	for what, err := range map[string]error{"Ended": c.Ended(), "Close": c.Close()} {
		if !errors.Is(err, ensemble.ErrServerEnded) {
			t.Errorf("%s() = %v, want ErrServerEnded", what, err)
			continue
		}
		_, path, _ := strings.Cut(err.Error(), "kept in ")
		path, _, _ = strings.Cut(path, ",")
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s() names the log %s: %v", what, path, err)
		}
	}
}

// What a zkbench killed with kill -9 has left is removed by the next one, even if two start at the same time.
func TestContainersOfAKilledProcess(t *testing.T) {
	tier.Long(t, "containers; package local has the same for processes")
	ensembletest.NeedDocker(t)
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), "ZKBENCH_TEST_VICTIM=1")
	out, err := victim.StdoutPipe()
	must(t, "stdout", err)
	must(t, "start", victim.Start())
	out.(*os.File).SetReadDeadline(time.Now().Add(5 * time.Minute)) // time to report that its servers are up
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("the victim says %q, %v", line, err)
	}
	if now := left(t, victim.Process.Pid); len(now) < 2 {
		t.Fatalf("the process that is to be killed has %d containers, volumes and networks: the test shows nothing", len(now))
	}
	must(t, "kill", victim.Process.Kill())
	victim.Wait()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			c, err := compose.Start(t.Context(), compose.Config{Servers: 1})
			if err == nil {
				err = c.Close()
			}
			if err != nil {
				t.Errorf("Start() and Close(): %v", err)
			}
		})
	}
	both.Wait()
	if after := left(t, victim.Process.Pid); len(after) != 0 {
		t.Errorf("%d containers, volumes and networks of the killed process are left", len(after))
	}
}

// Servers in containers require SASL as processes do: with their credentials a client is who it claims to be, and without them, or with
// others, it is refused. No password is in the arguments, the variables or the labels of a container.
func TestServersInContainersAskForSASL(t *testing.T) {
	tier.Long(t, "containers; package local has the same for processes")
	ensembletest.NeedDocker(t)
	c := inContainers(t, compose.Config{Servers: 1, Secure: ensemble.SecureSASL})
	files := c.Credentials()
	set := access.Settings{}.With(files)
	text, err := os.ReadFile(files.Auth)
	must(t, "the credentials", err)
	_, password, _ := strings.Cut(strings.TrimSpace(string(text)), ":")
	dial := func(change func(*access.Identity)) (*wire.Client, error) {
		a, err := access.Load(set, 1)
		must(t, "Load()", err)
		id := a.Session(0)
		change(&id)
		cfg := wire.Config{Servers: c.Addresses(), Dialer: id.Dial}
		if id.User != "" {
			cfg.SASL = &wire.SASL{User: id.User, Password: id.Password}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return wire.Dial(ctx, cfg)
	}
	known, err := dial(func(*access.Identity) {})
	must(t, "a session with the credentials", err)
	defer known.Close()
	if all, err := known.WhoAmI(t.Context()); err != nil || !slices.Contains(all, zk.Identity{Scheme: "sasl", ID: "bench"}) {
		t.Errorf("WhoAmI gives %v, %v, want sasl:bench", all, err)
	}
	if _, err := dial(func(id *access.Identity) { id.Password += "x" }); !errors.Is(err, zk.ErrAuthFailed) {
		t.Errorf("a wrong password: %v, want ErrAuthFailed", err)
	}
	stranger, err := dial(func(id *access.Identity) { *id = id.Nobody() })
	must(t, "a session without credentials", err)
	defer stranger.Close()
	if _, _, err := stranger.Get(t.Context(), "/"); !errors.Is(err, zk.ErrAuthRequired) {
		t.Errorf("without credentials Get gives %v, want ErrAuthRequired", err)
	}
	ids, err := exec.Command("docker", "ps", "-q", "--filter", "label=zkbench=ensemble").Output()
	must(t, "docker ps", err)
	for _, id := range strings.Fields(string(ids)) {
		if said, err := exec.Command("docker", "inspect", id).Output(); err == nil && strings.Contains(string(said), password) {
			t.Errorf("docker inspect of %s has the password", id)
		}
	}
}

// Servers in containers are secured as processes are: a write goes through each of them over TLS, and once with a client certificate; without it they refuse
// the client. None of the secrets stays behind.
func TestSecuredServersInContainers(t *testing.T) {
	tier.Long(t, "containers; package local has the same for processes")
	ensembletest.NeedDocker(t)
	var dir string
	t.Run("up", func(t *testing.T) {
		c, err := compose.Start(t.Context(), compose.Config{Servers: 1, Secure: ensemble.SecureMTLS})
		must(t, "Start(): a write went through it", err)
		defer func() { must(t, "Close()", c.Close()) }()
		files := c.Credentials()
		dir = filepath.Dir(files.CA)
		pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		must(t, "the client's certificate", err)
		authority, err := os.ReadFile(files.CA)
		must(t, "the authority", err)
		cfg := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost", Certificates: []tls.Certificate{pair}}
		cfg.RootCAs.AppendCertsFromPEM(authority)
		dial := ensemble.Dialer((&tls.Dialer{Config: cfg}).DialContext)
		if version, err := dial.Version(t.Context(), c.Addresses()[0]); err != nil || version != "3.8.0" {
			t.Errorf("Version() over TLS = %q, %v", version, err)
		}
		if answers(t.Context(), c.Addresses()[0]) {
			t.Error("the server answers a client without TLS")
		}
		if out, err := exec.Command("docker", "ps", "--no-trunc", "--filter", "label=zkbench=ensemble", "--format", "{{.Command}} {{.Labels}}").CombinedOutput(); err != nil ||
			strings.Contains(string(out), "PRIVATE KEY") {
			t.Errorf("docker ps: %v\n%s", err, out)
		}
	})
	if _, err := os.Stat(dir); dir == "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}
