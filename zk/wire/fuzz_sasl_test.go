package wire

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/internal/jute"
)

// scripted is a connection whose server sends fixed bytes, whatever it receives.
type scripted struct {
	net.Conn // nil: nothing else is called
	in       *bytes.Reader
	out      bytes.Buffer
}

func (s *scripted) Read(b []byte) (int, error)  { return s.in.Read(b) }
func (s *scripted) Write(b []byte) (int, error) { return s.out.Write(b) }

// tokenReply frames a reply to a SASL request.
func tokenReply(xid, code int32, token string) []byte {
	b := jute.AppendBuffer(jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(nil, xid), 0), code), []byte(token))
	return append(jute.AppendInt32(nil, int32(len(b))), b...)
}

// FuzzAuthenticate makes a server answer SASL requests with arbitrary bytes. The client must not accept them as a proof, panic, send more than two
// requests, or disclose the password to the server or in its error.
func FuzzAuthenticate(f *testing.F) {
	const challenge = `realm="zk-sasl-md5",nonce="n",charset=utf-8,algorithm=md5-sess`
	f.Add(append(tokenReply(1, 0, challenge), tokenReply(2, 0, "rspauth=00000000000000000000000000000000")...))
	f.Add(append(tokenReply(1, 0, challenge), tokenReply(2, jute.CodeAuthFailed, "")...))
	f.Add(append(tokenReply(1, 0, challenge), tokenReply(2, 0, "")...))
	f.Add(tokenReply(1, jute.CodeAuthRequired, ""))
	f.Add(tokenReply(1, 0, ""))
	f.Add(tokenReply(7, 0, challenge))
	f.Add(jute.AppendInt32(nil, 1<<30))
	f.Add([]byte{0, 0, 0, 20, 0, 0, 0, 1})
	const password = "open sesame"
	f.Fuzz(func(t *testing.T, said []byte) {
		c := offline()
		c.cfg.SASL = &SASL{User: "ada", Password: password}
		server := &scripted{in: bytes.NewReader(said)}
		err := c.authenticate(server)
		if err == nil {
			t.Fatal("authenticate accepted a server that does not know the password")
		}
		if strings.Contains(err.Error(), password) || bytes.Contains(server.out.Bytes(), []byte(password)) {
			t.Errorf("the password is disclosed: %v, %q", err, server.out.Bytes())
		}
		requests := 0
		for r := bytes.NewReader(server.out.Bytes()); r.Len() > 0; requests++ {
			if _, err := jute.ReadFrame(r, 0, 1<<16); err != nil {
				t.Fatal(err)
			}
		}
		if requests < 1 || requests > 2 {
			t.Errorf("%d requests, want 1 or 2", requests)
		}
	})
}
