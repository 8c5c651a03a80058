package stores

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The stores that can be started.
const (
	Redis = "redis"
	Etcd  = "etcd"
)

// kind says how to start servers of a store.
type kind struct {
	program, debian string
	// ports is how many ports a server listens on; the first is for clients.
	ports int
	args  func(dir string, ports []string) []string
	// ready checks whether a server that accepts connections serves requests.
	ready func(c net.Conn) error
}

const host = "127.0.0.1"

var kinds = map[string]kind{
	// Nothing is written to disk: a restarted server knows no locks.
	Redis: {"redis-server", "redis-server", 1, func(dir string, ports []string) []string {
		return []string{"--bind", host, "--port", ports[0], "--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no", "--loglevel", "warning"}
	}, func(c net.Conn) error { return answers(c, "PING\r\n", "+PONG") }},
	// Writes are synced, which is the default.
	Etcd: {"etcd", "etcd-server", 2, func(dir string, ports []string) []string {
		clients, peers := "http://"+net.JoinHostPort(host, ports[0]), "http://"+net.JoinHostPort(host, ports[1])
		return []string{"--name", "one", "--data-dir", filepath.Join(dir, "data"), "--listen-client-urls", clients, "--advertise-client-urls", clients,
			"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "one=" + peers}
	}, func(c net.Conn) error { return answers(c, "GET /health HTTP/1.0\r\n\r\n", "200 OK") }},
}

// Known reports whether servers of a store can be started.
func Known(store string) bool { _, known := kinds[store]; return known }

// answers sends a question and checks that the first answer contains a word.
func answers(c net.Conn, question, word string) error {
	if _, err := c.Write([]byte(question)); err != nil {
		return err
	}
	answer := make([]byte, 256)
	n, err := c.Read(answer)
	if err == nil && !bytes.Contains(answer[:n], []byte(word)) {
		err = fmt.Errorf("it answers %q", answer[:n])
	}
	return err
}

// Servers are independent servers of one store. Its methods may be called concurrently.
type Servers struct {
	Store, Version string
	dir            string
	servers        []*server
}

// server is one server, which may be restarted at the same address.
type server struct {
	kind    kind
	program string
	args    []string
	address string

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
	said  bytes.Buffer // its output; to be read after it has ended
}

const (
	serveWithin = 30 * time.Second
	endWithin   = 5 * time.Second
	tries       = 3 // a free port may be taken by the time it is used
)

// Start starts n empty servers of a store and waits until they serve requests. Its error says what is not installed.
func Start(ctx context.Context, store string, n int) (*Servers, error) {
	k, known := kinds[store]
	if !known {
		return nil, fmt.Errorf("servers of the store %q cannot be started", store)
	}
	program, err := exec.LookPath(k.program)
	if err != nil {
		return nil, fmt.Errorf("%s is not installed ('make drivers' installs it, or apt-get install %s; or name a server that runs with --%s HOST:PORT)", k.program, k.debian, store)
	}
	dir, err := os.MkdirTemp("", "zkbench-"+store+"-")
	if err != nil {
		return nil, err
	}
	all := &Servers{Store: store, dir: dir, Version: version(ctx, program)}
	for i := range n {
		s, err := k.start(ctx, program, filepath.Join(dir, fmt.Sprint(i+1)))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: %w", k.program, err), all.Close())
		}
		all.servers = append(all.servers, s)
	}
	return all, nil
}

// version returns the number in the first line of a program's version output.
func version(ctx context.Context, program string) string {
	out, _ := exec.CommandContext(ctx, program, "--version").Output()
	line, _, _ := strings.Cut(string(out), "\n")
	for _, word := range strings.Fields(line) {
		if word = strings.TrimPrefix(word, "v="); word != "" && word[0] >= '0' && word[0] <= '9' {
			return word
		}
	}
	return "of unknown version"
}

func (k kind) start(ctx context.Context, program, dir string) (*server, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	var failed error
	for range tries {
		ports, err := freePorts(k.ports)
		if err != nil {
			return nil, err
		}
		s := &server{kind: k, program: program, args: k.args(dir, ports), address: net.JoinHostPort(host, ports[0])}
		if failed = s.start(ctx); failed == nil || ctx.Err() != nil {
			return s, failed
		}
	}
	return nil, failed
}

// freePorts returns ports that are currently unused.
func freePorts(n int) (ports []string, err error) {
	for range n {
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			return nil, err
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
	}
	return ports, nil
}

// start starts the process and waits until it serves requests.
func (s *server) start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said.Reset()
	s.cmd, s.ended = exec.Command(s.program, s.args...), make(chan struct{})
	s.cmd.Stdout, s.cmd.Stderr = &s.said, &s.said
	s.cmd.SysProcAttr = attached()
	cmd, ended := s.cmd, s.ended
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: attached sends its signal when the thread that started the process ends
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, serveWithin, fmt.Errorf("it does not serve within %v", serveWithin))
	defer cancel()
	for {
		err := s.serves()
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			said := strings.TrimSpace(s.said.String())
			return fmt.Errorf("it ended at once: %s", said[max(0, len(said)-500):])
		case <-ctx.Done():
			s.kill()
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *server) serves() error {
	c, err := net.DialTimeout("tcp", s.address, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	return s.kind.ready(c)
}

// kill ends the process at once. The lock must be held.
func (s *server) kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		s.cmd.Process.Kill()
		<-s.ended
	}
}

// Addresses returns the host:port of each server.
func (s *Servers) Addresses() (all []string) {
	for _, one := range s.servers {
		all = append(all, one.address)
	}
	return all
}

// PIDs returns the process ids of the servers.
func (s *Servers) PIDs() (all []int) {
	for _, one := range s.servers {
		one.mu.Lock()
		all = append(all, one.cmd.Process.Pid)
		one.mu.Unlock()
	}
	return all
}

// Kill ends server i, counted from 0, at once.
func (s *Servers) Kill(i int) {
	one := s.servers[i]
	one.mu.Lock()
	defer one.mu.Unlock()
	one.kill()
}

// Restart restarts a killed server at its address. A Redis server is then empty.
func (s *Servers) Restart(ctx context.Context, i int) error { return s.servers[i].start(ctx) }

// Close ends the servers and removes their files. It may be called twice.
func (s *Servers) Close() error {
	for _, one := range slices.Backward(s.servers) {
		one.mu.Lock()
		if one.cmd.Process.Signal(syscall.SIGTERM) == nil {
			select {
			case <-one.ended:
			case <-time.After(endWithin):
			}
		}
		one.kill()
		one.mu.Unlock()
	}
	return os.RemoveAll(s.dir)
}
