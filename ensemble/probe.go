package ensemble

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
)

// A probe implements just enough of ZooKeeper's client protocol to check whether a server serves: a session opens only with a
// quorum, because opening it is a write; and probeWrite makes that write visible as a znode.
type probe struct {
	conn    net.Conn
	xid     int32
	timeout time.Duration // session timeout, as negotiated
}

const (
	ephemeral   = 1 // CreateMode
	probeWithin = 10 * time.Second
)

// openProbe opens a session at one server. It returns ErrNoQuorum if the server closes the connection without an answer, because then it does not
// serve, and ErrUnreachable if there is no connection at all.
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

// call sends one request and returns the server's error code; it need not skip events, because a session without watches gets none.
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
		return refusal(code)
	}
	return nil
}

// refusal is the error code of a server.
type refusal int32

func (r refusal) Error() string { return fmt.Sprintf("server's error %d", int32(r)) }

// unimplemented is the code for a request that the server does not know.
const unimplemented refusal = -6

// errAuthRequired says that the server opened the session, to which the quorum agreed, but executes nothing without credentials. It has already
// ended the session.
var errAuthRequired = errors.New("the server requires authentication")

// close closes the session at the server, and the connection.
func (p *probe) close() error {
	err := p.call(jute.OpClose, nil)
	if errors.Is(err, errAuthRequired) {
		err = nil
	}
	return errors.Join(err, p.conn.Close())
}

// probePowers finds out by requests what a server can do, from the oldest power to the newest: one that it does not know ends the connection. The requests only
// read.
func (d Dialer) probePowers(ctx context.Context, address string) (zk.Powers, error) {
	p, err := d.openProbe(ctx, address)
	if err != nil {
		return zk.Powers{}, err
	}
	const anyWatch = 3
	for _, one := range []struct {
		shows zk.Power
		op    jute.Op
		body  []byte
	}{
		{zk.PowerCreate2, jute.OpCheckWatches, jute.AppendInt32(jute.AppendString(nil, "/"), anyWatch)}, // came with the same version
		{zk.PowerMultiRead, jute.OpMultiRead, jute.AppendInt32(jute.AppendBool(jute.AppendInt32(nil, int32(jute.OpError)), true), -1)},
		{zk.PowerWhoAmI, jute.OpWhoAmI, nil},
	} {
		switch err := p.call(one.op, one.body); {
		case errors.Is(err, unimplemented):
			p.conn.Close()
			return zk.Powers{}.Before(one.shows), nil
		case err != nil && !errors.As(err, new(refusal)):
			p.conn.Close()
			return zk.Powers{}, err
		}
	}
	return zk.Powers{}, p.close()
}

// probeSession opens a session at the server and closes it: a write through the quorum that leaves no znode.
func (d Dialer) probeSession(ctx context.Context, address string) error {
	p, err := d.openProbe(ctx, address)
	if err != nil {
		return err
	}
	return p.close()
}

// probeWrite creates a znode through the server and deletes it again. The znode is ephemeral, so that nothing is left behind if
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
