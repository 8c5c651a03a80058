package secured

import (
	"net"
	"sync"

	"github.com/zkbench/zkbench/internal/jute"
)

// Fault is what is wrong with a client that reconnects.
type Fault int

// The faults.
const (
	Sound      Fault = iota
	Forgetful        // it does not present its own credential again
	PingsFirst       // it pings before it presents its credentials
)

// Line is a filter for the unencrypted connections of one session. It leaves the first connection unchanged.
type Line struct {
	Fault      Fault
	Credential []byte // of the client itself, USER:PASSWORD

	mu      sync.Mutex
	count   int
	now     net.Conn
	refused int
}

// Wrap makes a connection the line's latest.
func (l *Line) Wrap(c net.Conn) net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = c
	w := &altered{Conn: c, answers: answers{refusal: l.note}}
	if l.count++; l.count > 1 && l.Fault != Sound {
		w.alter = (&alteration{fault: l.Fault, credential: l.Credential}).frame
	}
	return w
}

// Cut breaks the latest connection.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now != nil {
		l.now.Close()
	}
}

// Mend makes future connections sound.
func (l *Line) Mend() {
	l.mu.Lock()
	l.Fault = Sound
	l.mu.Unlock()
	l.Cut()
}

func (l *Line) note() {
	l.mu.Lock()
	l.refused++
	l.mu.Unlock()
}

// Refused returns how often a server has answered that it wants credentials first.
func (l *Line) Refused() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// altered is a connection whose requests are altered, if alter is not nil, and whose answers are inspected. One goroutine may write at a time, and
// one may read.
type altered struct {
	net.Conn
	answers answers
	partial []byte
	alter   func(frame []byte) []byte
}

func (a *altered) Read(b []byte) (int, error) {
	n, err := a.Conn.Read(b)
	a.answers.look(b[:n])
	return n, err
}

// Write forwards complete frames and buffers incomplete ones.
func (a *altered) Write(b []byte) (int, error) {
	if a.alter == nil {
		return a.Conn.Write(b)
	}
	a.partial = append(a.partial, b...)
	var out []byte
	for len(a.partial) >= 4 {
		n := 4 + int(jute.Int32(a.partial))
		if n < 4 || len(a.partial) < n {
			break
		}
		out = append(out, a.alter(a.partial[:n:n])...)
		a.partial = a.partial[n:]
	}
	if len(out) > 0 {
		if _, err := a.Conn.Write(out); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// alteration applies a fault to the requests of one connection.
type alteration struct {
	fault      Fault
	credential []byte
	frames     int
}

// frame returns what is sent instead of a frame; the first frame is the connect request.
func (a *alteration) frame(frame []byte) []byte {
	a.frames++
	switch {
	case a.fault == PingsFirst && a.frames == 2:
		ping := jute.BeginRequest(nil, jute.OpPing)
		jute.Seal(ping, jute.XidPing)
		return append(ping, frame...)
	case a.fault == Forgetful && a.frames > 1 && a.own(frame):
		// The answer to this sync reports success, as the answer to the credential would.
		sync := jute.AppendString(jute.BeginRequest(nil, jute.OpSync), "/")
		jute.Seal(sync, jute.XidAuth)
		return sync
	}
	return frame
}

// own reports whether a frame presents the client's own credential.
func (a *alteration) own(frame []byte) bool {
	d := jute.Decoder{B: frame}
	d.Int32() // length
	d.Int32() // xid
	if jute.Op(d.Int32()) != jute.OpAuth {
		return false
	}
	d.Int32() // type, unused
	scheme, credential := d.String(), d.Buffer()
	return d.Err() == nil && scheme == "digest" && string(credential) == string(a.credential)
}

// answers looks for refusals in what a server sends.
type answers struct {
	refusal func()
	head    []byte // of a frame, as far as received
	rest    int    // bytes of the frame that follow its head
	begun   bool   // the answer to the connect request, which has no such head, has arrived
}

// answerHead is the length of a frame's length field and a jute.Reply.
const answerHead = 4 + jute.ReplyHeader

func (a *answers) look(b []byte) {
	for len(b) > 0 {
		n := min(a.rest, len(b))
		if a.rest == 0 {
			n = min(answerHead-len(a.head), len(b))
			a.head = append(a.head, b[:n]...)
		} else {
			a.rest -= n
		}
		b = b[n:]
		if len(a.head) < answerHead {
			continue
		}
		a.rest = max(0, int(jute.Int32(a.head))-jute.ReplyHeader)
		if a.begun && jute.Int32(a.head[answerHead-4:]) == jute.CodeAuthRequired {
			a.refusal()
		}
		a.begun, a.head = true, a.head[:0]
	}
}
