package ensemble

import (
	"context"
	"errors"
	"time"
)

// Ensemble is ZooKeeper servers that a run can use. Servers are numbered from 1, in the order of Addresses. All methods may
// be called from several goroutines.
type Ensemble interface {
	// Addresses are host:port of the clients' ports, one per server, whether or not the server is up.
	Addresses() []string
	// Servers is the number of servers, whether or not they are up.
	Servers() int
	// Stats asks every server at the same time. Each has its own error: one that is down does not hide the others.
	Stats(ctx context.Context) []ServerStats
	// Preflight says what would spoil a run with these needs, fatal problems first. Nil means that nothing was found.
	Preflight(ctx context.Context, need Need) []Problem
	// Describe says what this ensemble is, as it was found when it was started, loaded or connected to.
	Describe() Description
	// Close ends servers that belong to this process, and only these; it may be called twice.
	Close() error
}

// Accountant is an Ensemble whose servers' processes run on this machine, or may.
type Accountant interface {
	// Usage is what each server's process has used, without asking the server; nil for one that does not run, or not here.
	Usage() []*Usage
}

// FaultInjector takes servers down and brings them back. They are addressed by number, 1 to N. Every method returns when its effect is there:
// a killed server has ended, a paused one no longer runs.
type FaultInjector interface {
	Kill(ctx context.Context, server int) error    // SIGKILL: no goodbye, connections reset
	Stop(ctx context.Context, server int) error    // SIGTERM: an orderly end
	Restart(ctx context.Context, server int) error // starts a server that was killed or stopped, on its own data and ports
	Pause(ctx context.Context, server int) error   // SIGSTOP: connections stay open and nothing answers
	Resume(ctx context.Context, server int) error  // SIGCONT
	// Leader is the number of the leader, or of the only server; ErrNoQuorum when no server says that it leads.
	Leader(ctx context.Context) (int, error)
	// Ready waits until a write has gone through every server that was not killed or stopped, for as long as ctx allows.
	Ready(ctx context.Context) error
}

// Staying is an Ensemble whose servers may stay when this process ends: what it has broken has to be mended before.
type Staying interface {
	Stays() bool
}

// Credentials are files that clients of a secured ensemble need; "" where they do not.
type Credentials struct {
	CA        string // certificates that the servers' are signed by
	Cert, Key string // of a client
	Auth      string // lines SCHEME USER:PASSWORD
	Resume    bool   // clients resume their TLS sessions
}

// Secured is an Ensemble that may be secured.
type Secured interface {
	// Credentials are the zero value where it is not.
	Credentials() Credentials
}

// The ways to secure an ensemble that is started. All encrypt the connections of the clients.
const (
	SecureTLS     = "tls"
	SecureResumed = "tls-resumed" // as tls, and clients resume their TLS sessions
	SecureMTLS    = "mtls"        // clients need a certificate
	SecureSASL    = "sasl"        // clients have to authenticate by DIGEST-MD5
	SecureDigest  = "digest"      // clients have to authenticate with the scheme digest
)

// SecureWays are all of them.
func SecureWays() []string {
	return []string{SecureTLS, SecureResumed, SecureMTLS, SecureSASL, SecureDigest}
}

// Side is who a server is cut off from.
type Side string

// The sides.
const (
	Everybody Side = "everybody" // the other servers and the clients
	Peers     Side = "servers"   // the other servers alone
	Clients   Side = "clients"   // the clients alone
)

// Partitioner is a FaultInjector that can also cut servers off the network. Nothing goes through then, in either direction, and nobody is
// told: connections stay open.
type Partitioner interface {
	FaultInjector
	// Partitions says why servers cannot be cut off from that side here, with the remedy; nil: they can. It is asked before any load.
	Partitions(ctx context.Context, from Side) error
	Disconnect(ctx context.Context, server int, from Side) error
	// Reconnect undoes every Disconnect of the server; one that is connected is left alone.
	Reconnect(ctx context.Context, server int) error
}

// Degrader is a FaultInjector that can also make the network of servers worse: of what a server sends, to its peers and to the clients.
type Degrader interface {
	FaultInjector
	// Degrades says why it cannot be done here, with the remedy; nil: it can. It is asked before any load.
	Degrades(ctx context.Context) error
	// SetLatency delays every packet; 0 ends it.
	SetLatency(ctx context.Context, server int, delay time.Duration) error
	// SetLoss lets percent of the packets vanish, 0 to 100; 0 ends it.
	SetLoss(ctx context.Context, server int, percent float64) error
}

// Description is what a result says of the ensemble it was measured on.
type Description struct {
	Kind    string // local, compose or external
	Source  string // where the server's program came from; for an external ensemble its addresses
	Version string // of ZooKeeper, such as 3.8.0; empty when no source tells it
	Servers int
	Fsync   string // on, off, or unknown: whether a write waits for the disk
	Java    string // path and version; empty for an external ensemble
	Tick    time.Duration
	Heap    string  // of each server's Java process
	CPUs    float64 // that each server's container may use; 0 where nothing limits it, or that is not known
	DataDir string
	// Encrypted: clients connect with TLS.
	Encrypted bool
}

// The errors of this package. They are wrapped with what was attempted and with the remedy.
var (
	// ErrNoJava: there is no java program where JAVA_HOME or PATH point.
	ErrNoJava = errors.New("no Java found")
	// ErrNoZooKeeper: there is no server program where it was looked for.
	ErrNoZooKeeper = errors.New("no ZooKeeper found")
	// ErrNoDocker: Docker or Compose is not installed, does not run, or is not for this user.
	ErrNoDocker = errors.New("no Docker")
	// ErrNoImage: the image of the servers is not here and cannot be pulled.
	ErrNoImage = errors.New("no image of ZooKeeper")
	// ErrPortTaken: a port that was asked for, or several sets of free ports one after the other, are in use.
	ErrPortTaken = errors.New("port taken")
	// ErrUnreachable: no server accepts a connection.
	ErrUnreachable = errors.New("servers unreachable")
	// ErrNoTLS: a server and this client do not agree on an encrypted connection.
	ErrNoTLS = errors.New("no TLS connection")
	// ErrNoQuorum: servers answer, but none of them serves, because fewer than half and one agree on a leader.
	ErrNoQuorum = errors.New("no quorum")
	// ErrNotReady: local servers did not come to serve in time, or ended while they were starting.
	ErrNotReady = errors.New("ensemble not ready")
	// ErrWordsOff: the server does not carry out a four-letter word and its AdminServer does not help.
	ErrWordsOff = errors.New("four-letter words off")
	// ErrServerEnded: a local server ended though nobody asked for it.
	ErrServerEnded = errors.New("server ended by itself")
	// ErrNotRunning: the server that a fault should be injected into is not running.
	ErrNotRunning = errors.New("server not running")
	// ErrRunning: the server that should be started again is still running.
	ErrRunning = errors.New("server already running")
	// ErrClosed: Close or Down was called.
	ErrClosed = errors.New("ensemble closed")

	// ErrUp: a detached ensemble is up already.
	ErrUp = errors.New("an ensemble is already up")
	// ErrNotUp: there is no detached ensemble.
	ErrNotUp = errors.New("no ensemble is up")
	// ErrGone: there was a detached ensemble, and none of its servers runs any more, as after a reboot.
	ErrGone = errors.New("the ensemble is gone")
	// ErrElsewhere: a detached ensemble whose processes cannot be seen from here may live, in another container or on another machine that
	// share the directory. Nothing of it was touched.
	ErrElsewhere = errors.New("the ensemble may live elsewhere")
)
