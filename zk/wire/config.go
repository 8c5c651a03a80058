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
	// Servers are host:port pairs; the default port is 2181. Each session tries them in its own order, derived from Seed.
	Servers []string
	// Timeout is the session timeout to request; 0 means 30 s. Servers bound it to between 2 and 20 of their ticks. If it is too short, a pause of
	// the process expires the session; if it is too long, the ephemeral znodes of a dead client remain.
	Timeout time.Duration
	// Seed determines the order of the servers and the jitter of the pauses between attempts. Sessions with the same seed go to the same server.
	Seed uint64
	// Chroot is prepended to every path, as in "/app"; the znode must exist.
	Chroot string
	// TLS, if not nil, encrypts the connections. Such a session has its own two goroutines.
	TLS *tls.Config
	// Auth are credentials that every connection presents first.
	Auth []Auth
	// SASL is the identity that every connection proves before Auth is presented; nil means no SASL.
	SASL *SASL
	// ACL is what Create and CreateOp set on a znode; nil means that everybody may do everything.
	ACL []ACL
	// ReadOnly accepts a server that is cut off from the ensemble and only serves reads; writes then fail with ErrReadOnly. Since ZooKeeper 3.6 such
	// a server creates only local sessions, and only if it is configured to (localSessionsEnabled); they end when it rejoins the ensemble.
	ReadOnly bool
	// Before35 says that a server may be older than ZooKeeper 3.5, so that sessions send only what those know: a create does not return the Stat (but the czxid),
	// a container is ErrUnimplemented, and a watch that was given up stays at the server until its event. Without it, the first refused request shows that, is
	// repeated in the older form, and costs its session the connection; all sessions of the Transport with the same Servers remember it.
	Before35 bool
	// MaxRequest and MaxReply limit the size of a packet, in bytes. 0 means 1 MiB - 1 for requests, which is what servers accept by default
	// (jute.maxbuffer), and 64 MiB for replies. A larger request fails with ErrBadArguments instead of breaking the connection; a larger reply breaks
	// the connection.
	MaxRequest, MaxReply int
	// Dialer opens connections; nil means a net.Dialer.
	Dialer func(ctx context.Context, network, addr string) (net.Conn, error)
	// Opened, if not nil, is called for each connection made, with the time that its handshake took once dialled, and the time that SASL took after that. It must not block.
	Opened func(handshake, sasl time.Duration)
	// Logger, if not nil, gets a record when the session connects, disconnects and ends. A Logger that blocks delays nothing but Close, which waits
	// until all records are written. At most 64 records of a session wait for it; further ones are dropped and counted.
	Logger *slog.Logger
	// Transport reads the sockets; nil means the one shared by all sessions of the process.
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
	Scheme, ID string // such as "world" and "anyone", or "auth" and "" for the identities that the session has authenticated
}

const (
	defaultTimeout    = 30 * time.Second
	defaultMaxRequest = 1<<20 - 1
	defaultMaxReply   = 64 << 20
	defaultPort       = "2181"
)

// complete validates a config and fills in defaults, without modifying what the caller's config points to.
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
		cfg.Dialer = (&net.Dialer{KeepAlive: -1}).DialContext // ZooKeeper's pings keep the connection alive
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
