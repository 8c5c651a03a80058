package wire

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/internal/digestmd5"
)

// SASL is the identity that every connection of a session proves by DIGEST-MD5 before anything else is sent on it.
type SASL struct{ User, Password string }

// saslURI is the name that ZooKeeper's servers use in DIGEST-MD5, whatever their host name (SaslServerCallbackHandler, ZooKeeperSaslServer).
const saslURI = "zookeeper/zk-sasl-md5"

// maxToken bounds the reply to a SASL request, in bytes.
const maxToken = 4 << 10

// The ways in which SASL fails, other than a wrong user or password. All are zk.ErrAuthFailed.
var (
	errNoSASL = errors.New("the server answers without a challenge: it has no SASL configured (authProvider.sasl and a Server section in its JAAS file), " +
		"or refuses DIGEST-MD5 (FIPS mode)")
	errNoProof = errors.New("the server does not confirm the password: it lets unauthenticated clients in (allowSaslFailedClients)")
)

// authenticate proves the identity on a connection whose session is established, before anything else is sent on it.
func (c *Client) authenticate(nc net.Conn) error {
	if c.cfg.SASL == nil {
		return nil
	}
	who := *c.cfg.SASL
	fail := func(err error) error {
		return fmt.Errorf("SASL authentication as %s: %w: %w", who.User, zk.ErrAuthFailed, err)
	}
	challenge, err := c.token(nc, 1, nil)
	if err != nil {
		return fmt.Errorf("SASL authentication as %s: %w", who.User, err)
	}
	if len(challenge) == 0 {
		return fail(errNoSASL)
	}
	response, proof, err := digestmd5.Credential{User: who.User, Password: who.Password, URI: saslURI}.Respond(challenge, rand.Text())
	if err != nil {
		return fail(err)
	}
	last, err := c.token(nc, 2, response)
	if err != nil {
		return fmt.Errorf("SASL authentication as %s: %w", who.User, err)
	}
	if len(last) == 0 {
		return fail(errNoProof)
	}
	if err := digestmd5.Proved(last, proof); err != nil {
		return fail(err)
	}
	return nil
}

// prove authenticates on a connection that is not the session's own, with all of the session's credentials.
func (c *Client) prove(nc net.Conn) error {
	if err := c.authenticate(nc); err != nil || len(c.cfg.Auth) == 0 {
		return err
	}
	_, err := nc.Write(c.credentials(nil))
	return err
}

// token sends one token and returns the server's. The error is zk.ErrAuthFailed if the server rejects it.
func (c *Client) token(nc net.Conn, xid int32, token []byte) ([]byte, error) {
	req := jute.AppendBuffer(jute.BeginRequest(nil, jute.OpSASL), token)
	jute.Seal(req, xid)
	c.mu.Lock()
	c.tap.tellSent(zk.KindAuth)
	c.mu.Unlock()
	if _, err := nc.Write(req); err != nil {
		return nil, err
	}
	frame, err := jute.ReadFrame(nc, jute.ReplyHeader, maxToken)
	if err != nil {
		return nil, err
	}
	return parseToken(frame, xid)
}

// parseToken reads the reply to a SASL request.
func parseToken(frame []byte, xid int32) ([]byte, error) {
	d := jute.Decoder{B: frame}
	head := d.Reply()
	switch {
	case d.Bad || head.Xid != xid:
		return nil, jute.ErrProtocol
	case head.Code == jute.CodeAuthFailed || head.Code == jute.CodeAuthRequired: // the latter where SASL is required
		return nil, fmt.Errorf("%w: wrong user or password", zk.ErrAuthFailed)
	case head.Code != 0:
		return nil, zk.FromCode(head.Code)
	}
	token := d.Buffer()
	return token, d.Err()
}
