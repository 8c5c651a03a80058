package proxy

import (
	"bufio"
	"net"
	"os"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/internal/jute"
)

var servers ensembletest.Shared

func TestMain(m *testing.M) { os.Exit(servers.Run(m)) }

// client speaks the protocol frame by frame, so that a test sees what was on the wire.
type client struct {
	t    testing.TB
	conn *net.TCPConn
	in   *bufio.Reader
	jute.Connect
	xid int32
}

// open connects and opens a session, or resumes that of cr. The client's id is 0 if cr has expired.
func open(t testing.TB, address string, cr jute.Connect) *client {
	t.Helper()
	c, err := tryOpen(t, address, cr)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tryOpen(t testing.TB, address string, cr jute.Connect) (*client, error) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { conn.Close() })
	c := &client{t: t, conn: conn.(*net.TCPConn), in: bufio.NewReader(conn)}
	conn.SetDeadline(time.Now().Add(2 * time.Minute)) // instead of hanging
	if cr.Password == nil {
		cr = jute.Connect{Timeout: 10 * time.Second}
	}
	if _, err := conn.Write(cr.Request()); err != nil {
		return nil, err
	}
	b, err := c.read()
	if err != nil {
		return nil, err
	}
	if c.Connect, err = jute.ParseConnectReply(b); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *client) read() ([]byte, error) { return jute.ReadFrame(c.in, 0, 2<<20) }

// send sends a request and returns its xid.
func (c *client) send(op jute.Op, fields ...any) int32 {
	c.t.Helper()
	c.xid++
	xid := c.xid
	if op == jute.OpPing {
		xid = jute.XidPing
	}
	b := jute.BeginRequest(nil, op)
	for _, f := range fields {
		switch f := f.(type) {
		case string:
			b = jute.AppendString(b, f)
		case int:
			b = jute.AppendInt32(b, int32(f))
		case bool:
			b = jute.AppendBool(b, f)
		}
	}
	jute.Seal(b, xid)
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
	return xid
}

func (c *client) sendCreate(path string) int32 {
	return c.send(jute.OpCreate, path, "", 1, 31, "world", "anyone", 0)
}

// receive reads the next frame.
func (c *client) receive() (Frame, []byte, error) {
	b, err := c.read()
	if err != nil {
		return Frame{}, nil, err
	}
	return parseReply(b), b, nil
}

// reply reads the next frame, which must be the reply with this xid.
func (c *client) reply(xid int32) (Frame, []byte) {
	c.t.Helper()
	f, b, err := c.receive()
	if err != nil || f.On != Reply || f.Xid != xid {
		c.t.Fatalf("received %+v, %v, want the reply %d", f, err, xid)
	}
	return f, b[jute.ReplyHeader:]
}

// notified reads the next frame, which must be a notification of the path.
func (c *client) notified(path string) {
	c.t.Helper()
	if f, _, err := c.receive(); err != nil || f.On != Notification || f.Path != path {
		c.t.Fatalf("received %+v, %v, want a notification of %s", f, err, path)
	}
}

// ended reads the end of the connection, which must be the next thing to come, and returns the error.
func (c *client) ended() error {
	c.t.Helper()
	f, _, err := c.receive()
	if err == nil {
		c.t.Fatalf("received %+v, want the end of the connection", f)
	}
	return err
}

// create creates a znode.
func (c *client) create(path string) {
	c.t.Helper()
	if f, _ := c.reply(c.sendCreate(path)); f.Err != 0 {
		c.t.Fatalf("create %s: error %d", path, f.Err)
	}
}

func (c *client) exists(path string) bool {
	c.t.Helper()
	c.reply(c.send(jute.OpSync, path))
	f, _ := c.reply(c.send(jute.OpExists, path, false))
	return f.Err == 0
}

// watch sets a data watch.
func (c *client) watch(path string) {
	c.t.Helper()
	if f, _ := c.reply(c.send(jute.OpGetData, path, true)); f.Err != 0 {
		c.t.Fatalf("get %s: error %d", path, f.Err)
	}
}

func (c *client) set(path, data string) {
	c.t.Helper()
	if f, _ := c.reply(c.send(jute.OpSetData, path, data, -1)); f.Err != 0 {
		c.t.Fatalf("set %s: error %d", path, f.Err)
	}
}
