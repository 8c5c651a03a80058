package wire_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/wire"
)

// saslReply is how a server answers a SASL request.
type saslReply struct {
	code  int32
	token string
}

// saslServer opens a session on each connection and answers its SASL requests in turn.
func saslServer(t *testing.T, replies ...saslReply) string {
	return impersonate(t, func(_ int, c net.Conn) {
		if !welcome(c, 10*time.Second) {
			return
		}
		for _, reply := range replies {
			r, ok := next(c)
			if !ok || r.op != int32(jute.OpSASL) {
				return
			}
			answer(c, r.xid, reply.code, jute.AppendBuffer(nil, []byte(reply.token))...)
		}
	}).address()
}

// A refusal ends Dial immediately: the other servers of an ensemble would refuse too.
func TestSASLRefusals(t *testing.T) {
	const challenge = `realm="zk-sasl-md5",nonce="n",charset=utf-8,algorithm=md5-sess`
	for _, c := range []struct {
		why     string
		replies []saslReply
		says    string
	}{
		{"a wrong password", []saslReply{{0, challenge}, {-115, ""}}, "wrong user or password"},
		{"a wrong password where SASL is required", []saslReply{{0, challenge}, {-124, ""}}, "wrong user or password"},
		{"a server without SASL", []saslReply{{0, ""}}, "has no SASL configured"},
		{"a server that accepts any password", []saslReply{{0, challenge}, {0, ""}}, "allowSaslFailedClients"},
		{"a server that does not know the password", []saslReply{{0, challenge}, {0, "rspauth=00"}}, "does not prove"},
		{"a malformed challenge", []saslReply{{0, "nonsense"}}, "malformed"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), dialTimeout)
		_, err := wire.Dial(ctx, wire.Config{Servers: []string{saslServer(t, c.replies...)}, Timeout: 10 * time.Second,
			SASL: &wire.SASL{User: "ada", Password: "sesame"}})
		cancel()
		if !errors.Is(err, zk.ErrAuthFailed) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: error is %v, want ErrAuthFailed and %q", c.why, err, c.says)
		}
	}
}

// A server that requires authentication answers even a ping with -124.
func TestAuthenticationRequired(t *testing.T) {
	s := impersonate(t, func(_ int, c net.Conn) {
		welcome(c, 10*time.Second)
		if b := hear(c); len(b) >= 8 {
			answer(c, jute.Int32(b), jute.CodeAuthRequired)
		}
	})
	c, err := wire.Dial(t.Context(), wire.Config{Servers: []string{s.address()}, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := c.Get(t.Context(), "/"); !errors.Is(err, zk.ErrAuthRequired) || !errors.Is(c.Err(), zk.ErrAuthRequired) {
		t.Errorf("errors are %v and %v, want ErrAuthRequired", err, c.Err())
	}
}
