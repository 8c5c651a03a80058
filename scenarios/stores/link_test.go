package stores

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios"
)

// echo starts a server that returns what it receives.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { io.Copy(c, c); c.Close() }()
		}
	}()
	return l.Addr().String()
}

const get, del = "*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "*2\r\n$3\r\ndel\r\n$1\r\na\r\n"

// A link forwards commands both ways and holds up only those with a gated name until the gate is open; led elsewhere, it closes existing connections.
func TestLink(t *testing.T) {
	k, err := newLink(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	c, err := net.Dial("tcp", k.address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	hear := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	}
	gate := k.hold("DEL")
	io.WriteString(c, get+del+get)
	hear(get)
	<-gate.reached
	close(gate.open)
	hear(del + get)
	k.lead(echo(t))
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("a connection to the server before goes on: %d bytes", n)
	}
	if c, err = net.Dial("tcp", k.address()); err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, get)
	hear(get)
	c.Close()
}

func TestCommand(t *testing.T) {
	for _, c := range []struct{ in, name string }{{get, "GET"}, {del, "DEL"}, {"*1\r\n$4\r\nPING\r\n", "PING"}, {"PING\r\n", ""}, {"*1\r\n$-1\r\n", ""}, {"", ""}} {
		name, raw, err := command(bufio.NewReader(strings.NewReader(c.in + "more")))
		if name != c.name || (err == nil) != (c.name != "") || err == nil && c.name != "" && string(raw) != c.in {
			t.Errorf("command(%q) = %q, %q, %v", c.in, name, raw, err)
		}
	}
}

// Every expectation refers to an existing scenario, and every scenario is played.
func TestExpectations(t *testing.T) {
	seen := map[string]map[Violation]bool{}
	for _, e := range Expectations {
		if seen[e.Scenario] == nil {
			seen[e.Scenario] = map[Violation]bool{}
		}
		seen[e.Scenario][e.Expect] = true
	}
	for _, s := range Scenarios {
		if len(seen[s.Name]) == 0 {
			t.Errorf("nobody is played in %s", s.Name)
		}
		delete(seen, s.Name)
	}
	for name := range seen {
		t.Errorf("no scenario is called %s", name)
	}
	if _, err := Run(t.Context(), Config{Drivers: map[string]string{"redis": "./gone"}, Config: scenarios.Config{Variants: []string{"lua"}}}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("without a driver: %v", err)
	}
}
