package ensemble

import (
	"context"
	"errors"
	"time"

	"github.com/zkbench/zkbench/zk"
)

// Ensemble is a set of ZooKeeper servers that a run can use. Servers are numbered from 1, in the order of Addresses. All methods may
// be called concurrently.
type Ensemble interface {
	// Addresses returns the host:port of the clients' ports, one per server, whether or not the server is up.
	Addresses() []string
	// Servers returns the number of servers, whether or not they are up.
	Servers() int
	// Stats asks every server concurrently. Each has its own error: one that is down does not hide the others.
	Stats(ctx context.Context) []ServerStats
	// Preflight says what would spoil a run with these needs, fatal problems first. Nil means that nothing was found.
	Preflight(ctx context.Context, need Need) []Problem
	// Describe describes this ensemble as it was found when it was started, loaded or connected to.
	Describe() Description
	// Close ends servers that belong to this process, and no others; it may be called twice.
	Close() error
}

// Accountant is an Ensemble whose server processes run on this machine, or may.
type Accountant interface {
	// Usage returns what the processes of each server have used, without asking the server; nil if nothing is known, because it does not run, or not here.
	Usage() []*Usage
}

// FaultInjector takes servers down and brings them back. They are addressed by number, 1 to N. Every method returns when it has taken effect:
// a killed server has ended, a paused one no longer runs.
type FaultInjector interface {
	Kill(ctx context.Context, server int) error    // SIGKILL: no goodbye, connections reset
	Stop(ctx context.Context, server int) error    // SIGTERM: an orderly shutdown
	Restart(ctx context.Context, server int) error // restarts a server that was killed or stopped, with its own data and ports
	Pause(ctx context.Context, server int) error   // SIGSTOP: connections stay open but nothing answers
	Resume(ctx context.Context, server int) error  // SIGCONT
	// Leader returns the number of the leader, or of the only server; ErrNoQuorum if no server says that it leads.
	Leader(ctx context.Context) (int, error)
	// Ready waits until a write has gone through every server that was not killed or stopped, for as long as ctx allows.
	Ready(ctx context.Context) error
}

// Upgrader is a FaultInjector whose servers can be started again as another ZooKeeper, newer or older, with their data. Both are named by a version, a home
// directory or a jar.
type Upgrader interface {
	FaultInjector
	// Upgrades returns the version of a ZooKeeper, "" if it is unknown, or why servers that have run another one cannot run it, with the remedy. from is "" for the
	// one that they run. It is called before any load.
	Upgrades(from, to string) (version string, err error)
	// Upgrade chooses what a server that is down runs when it is started again, and returns its version.
	Upgrade(ctx context.Context, server int, to string) (version string, err error)
}

// Staying is an Ensemble whose servers may outlive this process: faults must be recovered before it ends.
type Staying interface {
	Stays() bool
}

// Capable is an Ensemble that says what its servers can do.
type Capable interface {
	// Powers asks the servers that are up. What it cannot find out, they have.
	Powers(ctx context.Context) zk.Powers
}

// Configured is an Ensemble whose servers report their settings.
type Configured interface {
	// Options returns settings that all servers should share, by their names in conf and envi in lower case; nil if no server reports any.
	Options(ctx context.Context) map[string]string
}

// Credentials are the files that clients of a secured ensemble need; "" for those they do not need.
type Credentials struct {
	CA        string // certificates that sign those of the servers
	Cert, Key string // of a client
	Auth      string // with lines SCHEME USER:PASSWORD
	Resume    bool   // clients resume their TLS sessions
}

// Secured is an Ensemble that may be secured.
type Secured interface {
	// Credentials returns the zero value if it is not secured.
	Credentials() Credentials
}

// The ways to secure an ensemble that is started. All of them encrypt client connections.
const (
	SecureTLS     = "tls"
	SecureResumed = "tls-resumed" // like tls, but clients resume their TLS sessions
	SecureMTLS    = "mtls"        // clients need a certificate
	SecureSASL    = "sasl"        // clients must authenticate by DIGEST-MD5
	SecureDigest  = "digest"      // clients must authenticate with the scheme digest
)

// SecureWays returns all of them.
func SecureWays() []string {
	return []string{SecureTLS, SecureResumed, SecureMTLS, SecureSASL, SecureDigest}
}

// SecureNeeds returns what servers must be able to do to be secured in a way.
func SecureNeeds(way string) []zk.Need {
	switch way {
	case "":
		return nil
	case SecureSASL:
		return []zk.Need{{Power: zk.PowerTLS}, {Power: zk.PowerForceSASL, Instead: "secure them with " + SecureTLS}}
	case SecureDigest:
		return []zk.Need{{Power: zk.PowerTLS}, {Power: zk.PowerForceAuth, Instead: "secure them with " + SecureTLS}}
	}
	return []zk.Need{{Power: zk.PowerTLS}}
}

// Side is what a server is cut off from.
type Side string

// The sides.
const (
	Everybody Side = "everybody" // the other servers and the clients
	Peers     Side = "servers"   // only the other servers
	Clients   Side = "clients"   // only the clients
)

// Partitioner is a FaultInjector that can also cut servers off the network. Nothing gets through then, in either direction, and nobody is
// notified: connections stay open.
type Partitioner interface {
	FaultInjector
	// Partitions returns nil if servers can be cut off from that side here, or says why not, with the remedy. It is called before any load.
	Partitions(ctx context.Context, from Side) error
	Disconnect(ctx context.Context, server int, from Side) error
	// Reconnect undoes every Disconnect of the server; it does nothing for a connected one.
	Reconnect(ctx context.Context, server int) error
}

// Degrader is a FaultInjector that can also degrade the network of servers: it affects what a server sends, to its peers and to the clients.
type Degrader interface {
	FaultInjector
	// Degrades returns nil if that can be done here, or says why not, with the remedy. It is called before any load.
	Degrades(ctx context.Context) error
	// SetLatency delays every packet; 0 ends the delay.
	SetLatency(ctx context.Context, server int, delay time.Duration) error
	// SetLoss drops percent (0 to 100) of the packets; 0 ends the loss.
	SetLoss(ctx context.Context, server int, percent float64) error
}

// Description is what a result says about the ensemble on which it was measured.
type Description struct {
	Kind    string // local, compose or external
	Source  string // where the server's program came from; the addresses of an external ensemble
	Version string // of ZooKeeper, such as 3.8.0; empty if no source reports it
	Servers int
	Fsync   string // on, off, or unknown: whether a write waits for the disk
	Java    string // path and version; empty for an external ensemble
	Tick    time.Duration
	Heap    string  // of each server's Java process
	CPUs    float64 // CPUs that each server's container may use; 0 if there is no limit, or it is unknown
	DataDir string
	// Encrypted says that clients connect with TLS.
	Encrypted bool
}

// The errors of this package. They are wrapped with what was attempted and with the remedy.
var (
	// ErrNoJava says that there is no java program at JAVA_HOME or in PATH.
	ErrNoJava = errors.New("no Java found")
	// ErrNoZooKeeper says that no server program was found.
	ErrNoZooKeeper = errors.New("no ZooKeeper found")
	// ErrVersion says that servers answer with another version of ZooKeeper than was asked for.
	ErrVersion = errors.New("another ZooKeeper version answers")
	// ErrNoDocker says that Docker or Compose is not installed, does not run, or may not be used by this user.
	ErrNoDocker = errors.New("no Docker")
	// ErrNoImage says that the image of the servers is not available locally and cannot be pulled.
	ErrNoImage = errors.New("no image of ZooKeeper")
	// ErrPortTaken says that a requested port, or several sets of free ports one after the other, are in use.
	ErrPortTaken = errors.New("port taken")
	// ErrUnreachable says that no server accepts a connection.
	ErrUnreachable = errors.New("servers unreachable")
	// ErrNoTLS says that a server and this client do not agree on an encrypted connection.
	ErrNoTLS = errors.New("no TLS connection")
	// ErrNoQuorum says that servers answer, but none of them serves, because no majority agrees on a leader.
	ErrNoQuorum = errors.New("no quorum")
	// ErrNotReady says that local servers did not serve in time, or ended while they were starting.
	ErrNotReady = errors.New("ensemble not ready")
	// ErrWordsOff says that the server does not answer a four-letter word and its AdminServer does not help.
	ErrWordsOff = errors.New("four-letter words off")
	// ErrServerEnded says that a local server ended unexpectedly.
	ErrServerEnded = errors.New("server ended by itself")
	// ErrNotRunning says that the server to inject a fault into is not running.
	ErrNotRunning = errors.New("server not running")
	// ErrRunning says that the server to restart is still running.
	ErrRunning = errors.New("server already running")
	// ErrClosed says that Close or Down was called.
	ErrClosed = errors.New("ensemble closed")

	// ErrUp says that a detached ensemble is already up.
	ErrUp = errors.New("an ensemble is already up")
	// ErrNotUp says that there is no detached ensemble.
	ErrNotUp = errors.New("no ensemble is up")
	// ErrGone says that there was a detached ensemble, but none of its servers runs any more, as after a reboot.
	ErrGone = errors.New("the ensemble is gone")
	// ErrElsewhere says that a detached ensemble whose processes cannot be seen from here may still run, in another container or on another machine that
	// shares the directory. None of it was touched.
	ErrElsewhere = errors.New("the ensemble may live elsewhere")
)
