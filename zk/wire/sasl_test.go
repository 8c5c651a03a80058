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

// saslServer is a server that opens a session and answers the SASL requests of a connection with codes and tokens in turn.
func saslServer(t *testing.T, replies ...func(xid int32) []byte) string {
	s := impersonate(t, func(_ int, c net.Conn) {
		if _, err := jute.ReadFrame(c, 0, 1<<10); err != nil {
			return
		}
		hello := jute.AppendInt32(jute.AppendInt32(make([]byte, 4), 0), 10_000)
		hello = jute.AppendBool(jute.AppendBuffer(jute.AppendInt64(hello, 7), make([]byte, 16)), false)
		c.Write(framed(hello[4:]))
		for _, reply := range replies {
			req, err := jute.ReadFrame(c, 8, 4<<10)
			if err != nil || jute.Op(jute.Int32(req[4:])) != jute.OpSASL {
				return
			}
			c.Write(framed(reply(jute.Int32(req))))
		}
	})
	return s.Addr().String()
}

func framed(b []byte) []byte { return append(jute.AppendInt32(nil, int32(len(b))), b...) }

func saslReply(code int32, token string) func(int32) []byte {
	return func(xid int32) []byte {
		b := jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(nil, xid), 0), code)
		return jute.AppendBuffer(b, []byte(token))
	}
}

// A refusal ends the dialling at once: no other server of the ensemble would think better of it.
func TestSASLRefusals(t *testing.T) {
	const challenge = `realm="zk-sasl-md5",nonce="n",charset=utf-8,algorithm=md5-sess`
	for _, c := range []struct {
		why     string
		replies []func(int32) []byte
		says    string
	}{
		{"a wrong password", []func(int32) []byte{saslReply(0, challenge), saslReply(-115, "")}, "wrong user or password"},
		{"a wrong password where SASL is required", []func(int32) []byte{saslReply(0, challenge), saslReply(-124, "")}, "wrong user or password"},
		{"a server without SASL", []func(int32) []byte{saslReply(0, "")}, "has no SASL configured"},
		{"a server that lets everybody in", []func(int32) []byte{saslReply(0, challenge), saslReply(0, "")}, "allowSaslFailedClients"},
		{"a server that does not know the password", []func(int32) []byte{saslReply(0, challenge), saslReply(0, "rspauth=00")}, "does not prove"},
		{"a challenge that is none", []func(int32) []byte{saslReply(0, "nonsense")}, "malformed"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := wire.Dial(ctx, wire.Config{Servers: []string{saslServer(t, c.replies...)}, Timeout: 10 * time.Second,
			SASL: &wire.SASL{User: "ada", Password: "sesame"}})
		cancel()
		if !errors.Is(err, zk.ErrAuthFailed) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: error is %v, want ErrAuthFailed and %q", c.why, err, c.says)
		}
	}
}

// A server that carries nothing out without authentication answers a ping with -124 too.
func TestAuthenticationRequired(t *testing.T) {
	s := impersonate(t, func(_ int, c net.Conn) {
		jute.ReadFrame(c, 0, 1<<10)
		hello := jute.AppendInt32(jute.AppendInt32(nil, 0), 10_000)
		c.Write(framed(jute.AppendBool(jute.AppendBuffer(jute.AppendInt64(hello, 7), make([]byte, 16)), false)))
		if req, err := jute.ReadFrame(c, 8, 4<<10); err == nil {
			c.Write(framed(jute.AppendInt32(jute.AppendInt64(jute.AppendInt32(nil, jute.Int32(req)), 0), jute.CodeAuthRequired)))
		}
	})
	c, err := wire.Dial(t.Context(), wire.Config{Servers: []string{s.Addr().String()}, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := c.Get(t.Context(), "/"); !errors.Is(err, zk.ErrAuthRequired) || !errors.Is(c.Err(), zk.ErrAuthRequired) {
		t.Errorf("errors are %v and %v, want ErrAuthRequired", err, c.Err())
	}
}
