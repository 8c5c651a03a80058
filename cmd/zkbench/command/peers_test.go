package command

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/internal/jute"
)

// served answers the four-letter words and the greeting as a server does, and passes the rest of the connection to nonsense.
func served(nonsense func(c net.Conn)) func(c net.Conn) {
	return func(c net.Conn) {
		var head [4]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		switch string(head[:]) {
		case "mntr":
			io.WriteString(c, "zk_version\t3.8.0-1, built on 2022\nzk_server_state\tstandalone\nzk_num_alive_connections\t1\n")
			return
		case "srvr":
			io.WriteString(c, "Zookeeper version: 3.8.0-1, built on 2022\nMode: standalone\n")
			return
		case "conf":
			io.WriteString(c, "clientPort=1\ntickTime=2000\nmaxClientCnxns=0\nminSessionTimeout=1\nmaxSessionTimeout=40000\n")
			return
		}
		io.CopyN(io.Discard, c, int64(uint32(jute.Int32(head[:]))))
		greeting := jute.AppendInt32(jute.AppendInt32(nil, 37), 0)
		greeting = jute.AppendInt64(jute.AppendInt32(greeting, 10000), 0x1234)
		greeting = jute.AppendBuffer(greeting, make([]byte, 16))
		c.Write(append(greeting, 0))
		nonsense(c)
	}
}

// Peers that are not ZooKeeper servers, or only seem to be at first: clean and run give up about a session timeout later, say what they saw, and do not
// connect as fast as they can meanwhile.
func TestPeersThatAreNoServers(t *testing.T) {
	t.Parallel()
	silence := func(c net.Conn) { io.Copy(io.Discard, c) }
	for name, test := range map[string]struct {
		talk func(c net.Conn)
		says string
	}{
		"HTTP":    {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n") }, "127.0.0.1"},
		"garbage": {func(c net.Conn) { c.Write([]byte("\x00\x00\x00\x25garbage that is as long as a greeting")) }, "127.0.0.1"},
		"a flood": {func(c net.Conn) {
			for line := []byte(strings.Repeat("zk_flood\t1\n", 4096)); ; {
				if _, err := c.Write(line); err != nil {
					return
				}
			}
		}, "127.0.0.1"},
		"a frame of 2 GiB": {served(func(c net.Conn) { c.Write([]byte{0x7f, 0xff, 0xff, 0xff}); silence(c) }), "a frame of 2147483647 bytes"},
		"a long frame":     {served(func(c net.Conn) { c.Write([]byte{0, 0x0f, 0, 0}); silence(c) }), "no answer within 10s"},
		"silence":          {served(silence), "no answer within 10s"},
		"nonsense":         {served(func(c net.Conn) { io.WriteString(c, strings.Repeat("\x00\x00\x00\x10nonsense", 100)); silence(c) }), "not ZooKeeper's protocol"},
	} {
		for _, command := range []string{"clean", "run"} {
			t.Run(command+"/"+name, func(t *testing.T) {
				t.Parallel()
				var connections atomic.Int32
				address := ensembletest.Listen(t, func(c net.Conn) {
					connections.Add(1)
					test.talk(c)
				})
				args := []string{"clean", "--servers", address, "--yes"}
				if command == "run" {
					args = []string{"run", small(t, "session_timeout: 10s"), "--servers", address, "--out", out(t)}
				}
				zkbench(t, args...).want(exitFailed, test.says)
				if n := connections.Load(); n > 100 {
					t.Errorf("it connected %d times", n)
				}
				t.Logf("%d connections", connections.Load())
			})
		}
	}
}
