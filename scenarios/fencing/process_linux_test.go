package fencing

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// roleEnv gives the test binary another role.
const roleEnv = "ZKBENCH_TEST_FENCING"

// The roles.
const (
	roleClient = "client" // of a trial
	roleParent = "parent" // starts a client that waits, and one that is stopped, and waits to be killed
)

var servers ensembletest.Shared

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case roleClient:
		if err := Serve(context.Background(), os.Stdin, os.Stdout, Locks{}, dial, func(err error) error { return err }); err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case roleParent:
		parent()
	}
	os.Exit(servers.Run(m))
}

func dial(ctx context.Context, o Order, timeout time.Duration) (zk.Session, error) {
	return wire.Dial(ctx, wire.Config{Servers: o.Addresses, Timeout: timeout})
}

// startSelf starts this binary as a client.
func startSelf(ctx context.Context) (Client, error) {
	return Process(ctx, "/usr/bin/env", roleEnv+"="+roleClient, os.Args[0])
}

// A real process, stopped by a real signal for longer than its session timeout on real servers: what the command does.
func TestTrialsOnRealServers(t *testing.T) {
	local := ensembletest.Start(t, 3, func(c *local.Config) { c.Tick = 500 * time.Millisecond })
	const timeout = time.Second // two ticks
	order := Order{Addresses: local.Addresses(), Timeout: timeout, DataTimeout: 10 * time.Second}
	admin, err := dial(t.Context(), order, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.Create(t.Context(), "/trials", nil, zk.Persistent); err != nil {
		t.Fatal(err)
	}
	rows, err := Run(t.Context(), Config{Order: order, Dir: "/trials", Variants: []string{"predecessor", "single-node"}, Rounds: 1, Parallel: 8, Start: startSelf,
		Dial: func(ctx context.Context) (zk.Session, error) { return dial(ctx, order, timeout) }})
	if err != nil || len(rows) != 8 {
		t.Fatalf("Run() = %d rows, %v, want eight", len(rows), err)
	}
	for _, r := range rows {
		if r.Err != nil || r.Fenced && (r.Accepted != 0 || r.Rejected != 1) || !r.Fenced && (r.Accepted != 1 || r.Rejected != 0) {
			t.Errorf("%+v, want the late write rejected by a fence alone", r)
		}
		_, stopped, said := strings.Cut(r.Witness, "stopped for ")
		if pause, err := time.ParseDuration(stopped); !said || err != nil || pause < timeout {
			t.Errorf("%s %s: the witness %q does not say a pause past the session timeout of %v", r.Variant, r.Resource, r.Witness, timeout)
		}
	}
	settled(t, func() error {
		if sessions := ephemerals(t, admin, "/trials"); sessions != 0 {
			return fmt.Errorf("%d znodes of clients are left", sessions)
		}
		return nil
	})
}

// ephemerals counts the ephemeral znodes below a path.
func ephemerals(t *testing.T, s zk.Session, path string) (n int) {
	names, st, err := s.Children(t.Context(), path)
	if errors.Is(err, zk.ErrNoNode) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	if st.EphemeralOwner != 0 {
		n++
	}
	for _, name := range names {
		n += ephemerals(t, s, path+"/"+name)
	}
	return n
}

// settled waits until a condition holds.
func settled(t *testing.T, condition func() error) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// A stopped process does nothing, and continues where it was.
func TestPauseStopsTheWholeProcess(t *testing.T) {
	c, err := Process(t.Context(), "sh", "-c", "while read line; do echo $line; done")
	if err != nil {
		t.Fatal(err)
	}
	p := c.(*process)
	lines := bufio.NewReader(c)
	tell := func(text string) {
		if _, err := io.WriteString(c, text+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(want string) {
		t.Helper()
		late := time.AfterFunc(2*time.Minute, func() { c.Close() })
		defer late.Stop()
		if line, err := lines.ReadString('\n'); err != nil || line != want+"\n" {
			t.Fatalf("the process said %q, %v, want %q", line, err, want)
		}
	}
	tell("before")
	hear("before")
	if err := c.Pause(); err != nil {
		t.Fatal(err)
	}
	if state := stateOf(t, p.cmd.Process.Pid); state != "T" {
		t.Errorf("after Pause() the process is in state %s, want T", state)
	}
	tell("while it is stopped")
	if err := c.Resume(); err != nil {
		t.Fatal(err)
	}
	hear("while it is stopped")
	if err := c.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
}

func TestCloseEndsAClientInEveryState(t *testing.T) {
	for _, tt := range []struct {
		why, script string
		pause       bool
		fails       string // the error of Close; "": none
	}{
		{"it waits", "cat", false, ""},
		{"it is stopped", "cat", true, ""},
		{"it has ended", "exit 0", false, ""},
		{"it has failed", "echo no servers >&2; exit 3", false, "no servers"},
		{"it says what nobody hears", "yes; true", false, ""},
	} {
		c, err := Process(t.Context(), "sh", "-c", tt.script)
		if err != nil {
			t.Fatal(err)
		}
		p := c.(*process)
		if tt.pause {
			if err := c.Pause(); err != nil {
				t.Errorf("%s: Pause() = %v", tt.why, err)
			}
		}
		if tt.script == "yes; true" { // a child of the shell keeps the pipe open after the shell has been killed
			if _, err := io.ReadFull(p, make([]byte, 2)); err != nil {
				t.Error(err)
			}
			p.cmd.Process.Kill()
			c.Close()
		} else if err := c.Close(); (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: Close() = %v, want %q", tt.why, err, tt.fails)
		}
		if alive(p.cmd.Process.Pid) {
			t.Errorf("%s: the process lives after Close()", tt.why)
		}
	}
}

func TestProcessTellsWhatItCannotStart(t *testing.T) {
	if _, err := Process(t.Context(), "/no/such/program"); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("Process() = %v, want an error with the path", err)
	}
}

// parent starts two clients, stops one of them, prints their pids, and waits.
func parent() {
	var clients []*process
	for range 2 {
		c, err := Process(context.Background(), "cat")
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		clients = append(clients, c.(*process))
	}
	if err := clients[1].Pause(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode([]int{clients[0].cmd.Process.Pid, clients[1].cmd.Process.Pid})
	select {}
}

// kill -9 of the process that leads the trial also ends the clients, even stopped ones, which the end of a pipe would not wake.
func TestKillOfTheParentKillsItsClients(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+roleParent)
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said.(*os.File).SetReadDeadline(time.Now().Add(2 * time.Minute)) // time to name them
	var clients []int
	if err := json.NewDecoder(said).Decode(&clients); err != nil || len(clients) != 2 {
		t.Fatalf("the parent names %v, %v", clients, err)
	}
	if state := stateOf(t, clients[1]); state != "T" {
		t.Errorf("the second client is in state %s, want T", state)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	settled(t, func() error {
		for _, pid := range clients {
			if alive(pid) {
				return fmt.Errorf("client %d lives after its parent was killed", pid)
			}
		}
		return nil
	})
}

// alive reports whether a process exists that has not ended; a zombie has ended.
func alive(pid int) bool {
	letter, err := letterOf(pid)
	return err == nil && letter != "Z"
}

func stateOf(t *testing.T, pid int) string {
	t.Helper()
	letter, err := letterOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	return letter
}

// letterOf returns the state of a process: the field after its name, which may contain spaces and brackets.
func letterOf(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	return string(stat[bytes.LastIndexByte(stat, ')')+2]), nil
}
