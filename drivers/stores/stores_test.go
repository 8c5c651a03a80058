package stores

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
)

// ask returns the first line of a Redis server's answer to a command.
func ask(t *testing.T, address, command string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "%s\r\n", command)
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// Redis servers are independent; a killed one comes back empty at its address; nothing of them stays.
func TestRedis(t *testing.T) {
	t.Parallel()
	ensembletest.Need(t, "redis-server:redis-server")
	s, err := Start(t.Context(), Redis, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all := s.Addresses()
	if len(all) != 2 || len(s.PIDs()) != 2 || s.Version == "" || s.Version[0] < '0' || s.Version[0] > '9' {
		t.Fatalf("%v, version %q", all, s.Version)
	}
	if got := ask(t, all[0], "SET a 1") + ask(t, all[0], "DBSIZE") + ask(t, all[1], "DBSIZE"); got != "+OK:1:0" {
		t.Errorf("a key of the first: %s", got)
	}
	s.Kill(0)
	if c, err := net.Dial("tcp", all[0]); err == nil {
		c.Close()
		t.Error("the first serves though it was killed")
	}
	if err := s.Restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, all[0], "DBSIZE"); got != ":0" {
		t.Errorf("after the restart: %s", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("%s was left: %v", s.dir, err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// No server outlives the process that started it, even if that was killed.
func TestServersEndWithWhoeverStartedThem(t *testing.T) {
	const variable = "ZKBENCH_TEST_STARTS_REDIS"
	if os.Getenv(variable) != "" {
		s, err := Start(t.Context(), Redis, 1)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("serves at", s.Addresses()[0])
		select {}
	}
	t.Parallel()
	ensembletest.Need(t, "redis-server:redis-server")
	if runtime.GOOS != "linux" {
		t.Skip("Linux alone tells a process of its parent's end")
	}
	child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	child.Env = append(os.Environ(), variable+"=1", "TMPDIR="+t.TempDir())
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	out.(*os.File).SetReadDeadline(time.Now().Add(2 * time.Minute)) // time to report that its server runs
	line, err := bufio.NewReader(out).ReadString('\n')
	child.Process.Kill()
	child.Wait()
	address, serves := strings.CutPrefix(strings.TrimSpace(line), "serves at ")
	if err != nil || !serves {
		t.Fatalf("it says %q, %v", line, err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatal("its server goes on")
		}
	}
}

func TestEtcd(t *testing.T) {
	t.Parallel()
	ensembletest.Need(t, "etcd-server:etcd")
	s, err := Start(t.Context(), Etcd, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.Version == "" || len(s.Addresses()) != 1 {
		t.Errorf("%+v", s)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeStarted(t *testing.T) {
	if _, err := Start(t.Context(), "consul", 1); err == nil || Known("consul") {
		t.Errorf("an unknown store: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Start(t.Context(), Redis, 1); err == nil || !strings.Contains(err.Error(), "make drivers") || !strings.Contains(err.Error(), "--redis HOST:PORT") {
		t.Errorf("without a server: %v", err)
	}
	fails := t.TempDir() + "/redis-server"
	if err := os.WriteFile(fails, []byte("#!/bin/sh\necho no memory; exit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", strings.TrimSuffix(fails, "/redis-server")+":/bin:/usr/bin")
	if _, err := Start(t.Context(), Redis, 1); err == nil || !strings.Contains(err.Error(), "no memory") {
		t.Errorf("a server that ends: %v", err)
	}
}
