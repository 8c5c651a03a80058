package ensemble

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
)

// A probe speaks just enough of ZooKeeper's client protocol to ask a server whether it serves: a session opens only with a
// quorum, because opening it is a write; and probeWrite makes that write visible as a znode.
type probe struct {
	conn    net.Conn
	xid     int32
	timeout time.Duration // of the session, as negotiated
}

const (
	ephemeral   = 1 // CreateMode
	probeWithin = 10 * time.Second
)

// openProbe opens a session at one server. A server that does not serve closes the connection without an answer: that is
// ErrNoQuorum. No connection at all is ErrUnreachable.
func (d Dialer) openProbe(ctx context.Context, address string) (*probe, error) {
	conn, err := d.open(ctx, address)
	if err != nil {
		return nil, unreachable{err}
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(probeWithin)
	}
	conn.SetDeadline(deadline)
	p := &probe{conn: conn}
	answer, err := p.exchange(jute.Connect{Timeout: probeWithin}.Request())
	var said jute.Connect
	if err == nil {
		said, err = jute.ParseConnectReply(answer)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s opens no session: %w (%w)", address, ErrNoQuorum, err)
	}
	if p.timeout = said.Timeout; p.timeout <= 0 {
		conn.Close()
		return nil, fmt.Errorf("%s refuses the session", address)
	}
	return p, nil
}

// exchange sends one frame and reads one.
func (p *probe) exchange(frame []byte) ([]byte, error) {
	if _, err := p.conn.Write(frame); err != nil {
		return nil, err
	}
	return jute.ReadFrame(p.conn, jute.ReplyHeader, maxAnswer)
}

// call makes one request and gives the server's error code; it skips nothing, as a session without watches gets no events.
func (p *probe) call(op jute.Op, body []byte) error {
	p.xid++
	req := append(jute.BeginRequest(nil, op), body...)
	jute.Seal(req, p.xid)
	answer, err := p.exchange(req)
	if err != nil {
		return err
	}
	if code := (&jute.Decoder{B: answer}).Reply().Code; code != 0 {
		if code == jute.CodeAuthRequired {
			return errAuthRequired
		}
		return fmt.Errorf("server's error %d", code)
	}
	return nil
}

// errAuthRequired: the server has opened the session, which the quorum agreed to, and carries nothing out without credentials. It has ended
// the session by itself.
var errAuthRequired = errors.New("the server requires authentication")

// close ends the session at the server, and the connection.
func (p *probe) close() error {
	err := p.call(jute.OpClose, nil)
	if errors.Is(err, errAuthRequired) {
		err = nil
	}
	return errors.Join(err, p.conn.Close())
}

// probeSession opens a session at the server and closes it: a write through the quorum that leaves no znode.
func (d Dialer) probeSession(ctx context.Context, address string) error {
	p, err := d.openProbe(ctx, address)
	if err != nil {
		return err
	}
	return p.close()
}

// probeWrite creates a znode through the server and deletes it again. It is ephemeral, so that nothing is left behind when
// the reply is lost.
func (d Dialer) probeWrite(ctx context.Context, address string) error {
	p, err := d.openProbe(ctx, address)
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/zkbench-probe-%016x", rand.Uint64())
	create := jute.AppendBuffer(jute.AppendString(nil, path), nil) // no data
	create = jute.AppendInt32(append(create, jute.World...), ephemeral)
	if err = p.call(jute.OpCreate, create); err == nil {
		err = p.call(jute.OpDelete, jute.AppendInt32(jute.AppendString(nil, path), -1)) // any version
	}
	if errors.Is(err, errAuthRequired) {
		return p.conn.Close()
	}
	if err != nil {
		p.conn.Close()
		return fmt.Errorf("write through %s: %w", address, err)
	}
	return p.close()
}
