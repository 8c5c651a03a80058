package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// tickets is how many TLS sessions are kept for each server: all sessions of the run with the same certificate share them.
const tickets = 64

// certOf returns the index of the certificate of a session.
func (a *Access) certOf(number int) int { return number % len(a.certs) }

// config returns the tls.Config for a server and a session: one for all sessions with the same certificate.
func (a *Access) config(address string, number int) *tls.Config {
	of := configOf{address: address}
	if len(a.certs) > 0 {
		of.cert = a.certOf(number)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.configs[of]; c != nil {
		return c
	}
	c := &tls.Config{RootCAs: a.roots, ServerName: a.set.TLS.ServerName, MinVersion: tls.VersionTLS12}
	if c.ServerName == "" {
		c.ServerName, _, _ = net.SplitHostPort(address)
	}
	if len(a.certs) > 0 {
		c.Certificates = a.certs[of.cert : of.cert+1]
	}
	if a.set.TLS.Resume {
		c.ClientSessionCache = tls.NewLRUClientSessionCache(tickets)
	}
	a.configs[of] = c
	return c
}

// dial opens a connection.
func (a *Access) dial(ctx context.Context, network, address string, number int) (net.Conn, error) {
	start := time.Now()
	conn, err := (&net.Dialer{KeepAlive: -1}).DialContext(ctx, network, address) // pings keep it alive
	if err != nil {
		return nil, err
	}
	connected := time.Now()
	a.phases.note(Made{Session: number, Phase: TCP, Start: start, End: connected})
	if !a.Encrypted() {
		return conn, nil
	}
	t := tls.Client(conn, a.config(address, number))
	if err := t.HandshakeContext(ctx); err != nil {
		conn.Close()
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, a.refused(address, number, err)
	}
	state := t.ConnectionState()
	a.phases.note(Made{Session: number, Phase: TLS, Resumed: state.DidResume, Start: connected, End: time.Now()})
	a.mu.Lock()
	a.seen = strings.TrimPrefix(tls.VersionName(state.Version), "TLS ") + " with " + tls.CipherSuiteName(state.CipherSuite)
	a.mu.Unlock()
	if state.Version >= tls.VersionTLS13 {
		return &unjudged{Conn: t, refused: func(err error) error { return a.refused(address, number, err) }}, nil
	}
	return t, nil
}

// unjudged is a connection over TLS 1.3, where the client finishes its handshake before the server has checked its certificate: a refusal arrives with the
// first read. It may be used like any connection.
type unjudged struct {
	net.Conn
	refused func(error) error
	heard   atomic.Bool // the server has sent something
}

func (u *unjudged) Read(b []byte) (int, error) {
	n, err := u.Conn.Read(b)
	if n > 0 {
		u.heard.Store(true)
	} else if !u.heard.Load() && refusal(err) != nil {
		err = u.refused(err)
	}
	return n, err
}

// Write returns the server's refusal if the server has already closed the connection.
func (u *unjudged) Write(b []byte) (int, error) {
	n, err := u.Conn.Write(b)
	if (errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)) && !u.heard.Load() {
		var none [1]byte
		if _, said := u.Read(none[:]); errors.Is(said, ensemble.ErrNoTLS) {
			err = said
		}
	}
	return n, err
}

// refusal returns the alert with which a server has ended a handshake; nil if err is something else.
func refusal(err error) error {
	var alert *net.OpError
	if errors.As(err, &alert) && alert.Op == "remote error" {
		return alert.Err
	}
	return nil
}

// refused says why a handshake failed, and the remedy. It wraps ensemble.ErrNoTLS.
func (a *Access) refused(address string, number int, err error) error {
	why := func(format string, args ...any) error {
		return fmt.Errorf("%s: %w: %s", address, ensemble.ErrNoTLS, fmt.Sprintf(format, args...))
	}
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	alert := refusal(err)
	switch {
	case errors.As(err, &host):
		return why("%v; give the name that its certificate is for with --tls-server-name (tls: server_name), or have it issued for %s too", host, host.Host)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		now := time.Now()
		if now.Before(invalid.Cert.NotBefore) {
			return why("the server's certificate is valid from %s on; set the clock of this machine, or have another one issued", invalid.Cert.NotBefore.Format(time.RFC3339))
		}
		return why("the server's certificate has expired at %s; renew it on the server", invalid.Cert.NotAfter.Format(time.RFC3339))
	case errors.As(err, &unknown):
		return why("the server's certificate is not signed by %s; give the servers' own authority with --tls-ca (tls: ca)", a.authority())
	case errors.As(err, &record):
		return why("the port does not speak TLS (%v); give the secureClientPort, or leave TLS out for the clientPort", err)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return why("the port does not speak TLS (%v), or none of the server's ssl.ciphersuites is for its ssl.enabledProtocols; give the secureClientPort, leave TLS out for the "+
			"clientPort, or see the server's log", err)
	case alert != nil && strings.Contains(alert.Error(), "handshake failure"):
		return why("the server refuses (%v): its ssl.ciphersuites include none that this client offers, or it wants a client certificate, or a different one; add suites there, "+
			"or give --tls-cert and --tls-key (tls: cert, key)", alert)
	case alert != nil && strings.Contains(alert.Error(), "protocol version"):
		return why("the server refuses (%v): it speaks none of TLS 1.2 and 1.3; add TLSv1.2 to its ssl.enabledProtocols", alert)
	case alert != nil && len(a.certs) == 0:
		return why("the server refuses (%v): it wants a client certificate; give --tls-cert and --tls-key (tls: cert, key)", alert)
	case alert != nil:
		name, until := a.names[a.certOf(number)], a.certs[a.certOf(number)].Leaf.NotAfter
		if time.Now().After(until) {
			return why("the server refuses the client's certificate %s (%v): it has expired at %s; have another one issued", name, alert, until.Format(time.RFC3339))
		}
		return why("the server refuses the client's certificate %s (%v): it must be valid and signed by an authority in the server's trust store", name, alert)
	}
	return why("%v", err)
}

// authority names the authority that must have signed the servers' certificates.
func (a *Access) authority() string {
	if a.set.TLS.CA == profiles.SystemCA {
		return "an authority that this machine trusts"
	}
	return "the authority in " + a.set.TLS.CA
}

// SpeaksTLS reports whether a server answers a TLS handshake, with any certificate.
func SpeaksTLS(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	t := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // nothing is sent on this connection
	err = t.HandshakeContext(ctx)
	return err == nil || refusal(err) != nil
}

// explained is an error that already contains the remedy.
type explained struct{ error }

func (e explained) Unwrap() error { return e.error }

// since maps a request to the version of ZooKeeper that its newest form needs, and to what is new in it.
var since = map[zk.Kind]string{
	zk.KindCreate:        "3.5.0 (create2; 3.5.1 for containers)",
	zk.KindMulti:         "3.5.0 (create2 in a transaction; 3.5.1 for containers)",
	zk.KindAddWatch:      "3.6.0 (addWatch)",
	zk.KindRemoveWatches: "3.5.0 (removeWatches)",
	zk.KindOther:         "3.7.0 (whoAmI)",
}

// newer returns the remedy for a request that the servers cannot process.
func newer(err error) string {
	var request *zk.Error
	if errors.As(err, &request) && since[request.Op] != "" {
		return "; this request needs ZooKeeper " + since[request.Op] + " or newer: compare the servers' version (srvr), and upgrade them"
	}
	return "; check that they are ZooKeeper 3.5.1 or newer, that nothing between changes what is sent, and what their logs say of it"
}

// Explain adds the remedy to an error of the servers, once.
func Explain(err error) error {
	remedy := ""
	switch {
	case errors.As(err, new(explained)):
	case errors.Is(err, zk.ErrAuthRequired):
		remedy = " (error -124: sessionRequireClientSASLAuth or enforce.auth.enabled is set there); give credentials of a scheme that the servers ask for, sasl or digest, " +
			"with --auth-file (auth in the profile)"
	case errors.Is(err, zk.ErrAuthFailed):
		remedy = " (error -115); correct the user or the password that --auth-file (auth in the profile) names, and check that the servers support its scheme"
	case errors.Is(err, zk.ErrInvalidACL):
		remedy = " (error -114): the servers know none of the sessions' identities; set acl: world, or make sure that they authenticate the scheme"
	case errors.Is(err, zk.ErrSessionExpired):
		remedy = " (error -112): the servers heard nothing from it for its session timeout; check for overloaded servers or machines (with TLS, connecting alone can overload them) and for a lost quorum, " +
			"or raise session_timeout (in the profile)"
	case errors.Is(err, zk.ErrNoAuth):
		remedy = " (error -102); have its owner grant this identity READ, CREATE and DELETE there, or choose a znode where it has them with --root or --chroot"
	case errors.Is(err, zk.ErrUnimplemented):
		remedy = " (error -6)" + newer(err)
	case errors.Is(err, zk.ErrFailed):
		remedy = newer(err)
	case errors.Is(err, zk.ErrBadArguments):
		remedy = " (error -8)" + newer(err)
	case errors.Is(err, zk.ErrQuota):
		remedy = " (error -125); raise or remove the quota of that znode or of one above it (listquota in zkCli.sh), or choose another one with --root"
	case errors.Is(err, zk.ErrReadOnly):
		remedy = " (error -119): it has lost its quorum and has readonlymode.enabled; restore the quorum, or name other servers with --servers"
	case errors.Is(err, zk.ErrThrottled):
		remedy = " (error -127); lower the load, or raise zookeeper.request_throttle_max_requests and zookeeper.connection_max_tokens there"
	}
	if remedy == "" {
		return err
	}
	return explained{fmt.Errorf("%w%s", err, remedy)}
}
