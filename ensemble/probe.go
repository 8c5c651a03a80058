package ensemble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"
)

// A probe speaks just enough of ZooKeeper's client protocol to ask a server whether it serves: a session opens only with a
// quorum, because opening it is a write; and probeWrite makes that write visible as a znode.
type probe struct {
	conn    net.Conn
	xid     int32
	timeout time.Duration // of the session, as negotiated
}

// Request types and flags of the protocol (org.apache.zookeeper.ZooDefs.OpCode, CreateMode).
const (
	opCreate    = 1
	opDelete    = 2
	opClose     = -11
	ephemeral   = 1
	allPerms    = 31
	probeWithin = 10 * time.Second
)

// openProbe opens a session at one server. A server that does not serve closes the connection without an answer: that is
// ErrNoQuorum. No connection at all is ErrUnreachable.
func openProbe(ctx context.Context, address string) (*probe, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(probeWithin)
	}
	conn.SetDeadline(deadline)
	p := &probe{conn: conn}
	hello := binary.BigEndian.AppendUint32(nil, 0)                                     // protocol version
	hello = binary.BigEndian.AppendUint64(hello, 0)                                    // last zxid seen
	hello = binary.BigEndian.AppendUint32(hello, uint32(probeWithin/time.Millisecond)) // session timeout
	hello = binary.BigEndian.AppendUint64(hello, 0)                                    // session id: a new one
	hello = append(binary.BigEndian.AppendUint32(hello, 16), make([]byte, 16)...)      // password
	answer, err := p.exchange(append(hello, 0))                                        // not read-only
	if err == nil && len(answer) < 16 {
		err = fmt.Errorf("answer of %d bytes", len(answer))
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s opens no session: %w (%w)", address, ErrNoQuorum, err)
	}
	p.timeout = time.Duration(binary.BigEndian.Uint32(answer[4:])) * time.Millisecond
	if p.timeout == 0 {
		conn.Close()
		return nil, fmt.Errorf("%s refuses the session", address)
	}
	return p, nil
}

// exchange sends one frame and reads one.
func (p *probe) exchange(body []byte) ([]byte, error) {
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	if _, err := p.conn.Write(append(frame, body...)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(p.conn, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > 1<<20 {
		return nil, fmt.Errorf("frame of %d bytes: this is not a ZooKeeper server's client port", n)
	}
	answer := make([]byte, n)
	_, err := io.ReadFull(p.conn, answer)
	return answer, err
}

// call makes one request and gives the server's error code; it skips nothing, as a session without watches gets no events.
func (p *probe) call(op int32, body []byte) error {
	p.xid++
	head := binary.BigEndian.AppendUint32(nil, uint32(p.xid))
	head = binary.BigEndian.AppendUint32(head, uint32(op))
	answer, err := p.exchange(append(head, body...))
	if err != nil {
		return err
	}
	if len(answer) < 16 {
		return errors.New("short reply")
	}
	if code := int32(binary.BigEndian.Uint32(answer[12:])); code != 0 {
		return fmt.Errorf("server's error %d", code)
	}
	return nil
}

// close ends the session at the server, and the connection.
func (p *probe) close() error {
	err := p.call(opClose, nil)
	return errors.Join(err, p.conn.Close())
}

// probeSession opens a session at the server and closes it: a write through the quorum that leaves no znode.
func probeSession(ctx context.Context, address string) error {
	p, err := openProbe(ctx, address)
	if err != nil {
		return err
	}
	return p.close()
}

// probeWrite creates a znode through the server and deletes it again. It is ephemeral, so that nothing is left behind when
// the reply is lost.
func probeWrite(ctx context.Context, address string) error {
	p, err := openProbe(ctx, address)
	if err != nil {
		return err
	}
	path := fmt.Sprintf("/zkbench-probe-%016x", rand.Uint64())
	create := appendText(nil, path)
	create = binary.BigEndian.AppendUint32(create, 0) // no data
	create = binary.BigEndian.AppendUint32(create, 1) // one ACL: world:anyone
	create = binary.BigEndian.AppendUint32(create, allPerms)
	create = appendText(appendText(create, "world"), "anyone")
	create = binary.BigEndian.AppendUint32(create, ephemeral)
	if err = p.call(opCreate, create); err == nil {
		err = p.call(opDelete, binary.BigEndian.AppendUint32(appendText(nil, path), ^uint32(0))) // any version
	}
	if err != nil {
		p.conn.Close()
		return fmt.Errorf("write through %s: %w", address, err)
	}
	return p.close()
}

func appendText(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
}
