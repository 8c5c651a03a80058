package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/jute"
)

// Config says how Dial opens a session. Only Servers is required.
type Config struct {
	// Servers are host:port pairs; without a port it is 2181. Each session tries them in an order of its own, from Seed.
	Servers []string
	// Timeout is the session timeout to ask for; 0 means 30 s. Servers keep it within 2 and 20 of their ticks. Too short, and a
	// pause of the process expires the session; too long, and the znodes of a dead client stay.
	Timeout time.Duration
	// Seed orders the servers and the jitter of the pauses between tries. Sessions with the same seed go to the same server.
	Seed uint64
	// Chroot is put before every path, as in "/app"; the znode must exist.
	Chroot string
	// TLS, when not nil, encrypts the connections. Such a session has two goroutines of its own.
	TLS *tls.Config
	// Auth are credentials that every connection presents first.
	Auth []Auth
	// SASL is who every connection authenticates as, before Auth; nil: nobody.
	SASL *SASL
	// ACL is what Create and CreateOp give a znode; nil means that everybody may do everything.
	ACL []ACL
	// ReadOnly accepts a server that is cut off from the ensemble and serves reads alone; writes then fail with ErrReadOnly.
	// Since ZooKeeper 3.6 such a server makes local sessions only, if it is allowed to (localSessionsEnabled), and they end when it finds
	// the ensemble again.
	ReadOnly bool
	// MaxRequest and MaxReply limit a packet, in bytes; 0 means 1 MiB - 1, which is what servers accept by default
	// (jute.maxbuffer), and 64 MiB. A larger request fails with ErrBadArguments instead of costing the connection; a larger
	// reply costs the connection.
	MaxRequest, MaxReply int
	// Dialer opens connections; nil means a net.Dialer.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)
	// Opened is told of each connection that came about how long its handshake took after it was dialled, and SASL after that; nil: nobody.
	// It must not block.
	Opened func(handshake, sasl time.Duration)
	// Logger is told when the session connects, disconnects and ends; nil means nobody. One that blocks holds nothing up but Close, which
	// waits until all is written; of each session it is at most 64 lines behind, more are dropped and counted.
	Logger *slog.Logger
	// Transport reads the sockets; nil means the one that all sessions of the process share.
	Transport *Transport
}

// Auth is one credential; for the scheme "digest" the credential is "user:password".
type Auth struct {
	Scheme     string
	Credential []byte
}

// Perm is a set of permissions.
type Perm int32

// The permissions of an ACL.
const (
	PermRead Perm = 1 << iota
	PermWrite
	PermCreate
	PermDelete
	PermAdmin
	PermAll = PermRead | PermWrite | PermCreate | PermDelete | PermAdmin
)

// ACL gives one identity permissions on a znode.
type ACL struct {
	Perms      Perm
	Scheme, ID string // as in "world" and "anyone", or "auth" and "" for the identities that the session has authenticated
}

const (
	defaultTimeout    = 30 * time.Second
	defaultMaxRequest = 1<<20 - 1
	defaultMaxReply   = 64 << 20
	defaultPort       = "2181"
)

// complete checks a config and fills in what is missing, without touching what the caller's config points to.
func (cfg Config) complete() (Config, error) {
	var faults []error
	if len(cfg.Servers) == 0 {
		faults = append(faults, errors.New("no servers"))
	}
	cfg.Servers = slices.Clone(cfg.Servers)
	for i, s := range cfg.Servers {
		host, _, err := net.SplitHostPort(s)
		if err != nil {
			host, cfg.Servers[i] = s, net.JoinHostPort(strings.Trim(s, "[]"), defaultPort)
		}
		if host == "" || strings.Contains(s, "/") {
			faults = append(faults, fmt.Errorf("server %q is not host:port", s))
		}
	}
	if cfg.Chroot != "" && (cfg.Chroot[0] != '/' || strings.HasSuffix(cfg.Chroot, "/") || strings.Contains(cfg.Chroot, "//")) {
		faults = append(faults, fmt.Errorf("chroot %q is not the path of a znode", cfg.Chroot))
	}
	if cfg.Timeout < 0 || cfg.MaxRequest < 0 || cfg.MaxReply < 0 {
		faults = append(faults, errors.New("a limit is negative"))
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.MaxRequest == 0 {
		cfg.MaxRequest = defaultMaxRequest
	}
	if cfg.MaxReply == 0 {
		cfg.MaxReply = defaultMaxReply
	}
	if cfg.Dialer == nil {
		cfg.Dialer = (&net.Dialer{KeepAlive: -1}).DialContext // pings keep it alive
	}
	if cfg.Transport == nil {
		cfg.Transport = shared
	}
	return cfg, errors.Join(faults...)
}

func putACL(b []byte, acl []ACL) []byte {
	b = jute.AppendInt32(b, int32(len(acl)))
	for _, a := range acl {
		b = jute.AppendString(jute.AppendString(jute.AppendInt32(b, int32(a.Perms)), a.Scheme), a.ID)
	}
	return b
}

func (cfg Config) encodedACL() string {
	if len(cfg.ACL) == 0 {
		return jute.World
	}
	return string(putACL(nil, cfg.ACL))
}
