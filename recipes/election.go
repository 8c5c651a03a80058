package recipes

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/zk"
)

// Term is a leader's time in office.
type Term struct {
	Path string // the leader's znode
	// Token is the number of the term: the czxid of the leader's znode, which grows from leader to leader, so that it can fence.
	Token int64
	// Suspended is closed when the leader has no connection to a server. It must pause then: it can no longer know that it leads.
	// Campaign goes on with the term when it can, or begins another.
	Suspended <-chan struct{}
	// Lost is closed when the term is over without a return: the session is over, a third of its timeout has passed without a
	// server, or the leader's znode is gone, by Resign or by somebody else.
	Lost <-chan struct{}
}

// Election is one client's handle on the choice of one leader among many candidates. A handle is used by one goroutine at a time; its
// Leader and Follow may be called from others.
type Election interface {
	// Campaign takes a place among the candidates, waits until this client leads, and returns its term. Whose term was suspended
	// campaigns again: while its znode is there it goes on with the same token, and otherwise it is a candidate like any other. A
	// candidate whose znode somebody deletes makes another one. After an error it neither leads nor stands, and the znode of this
	// call is gone or goes as soon as the session is connected again.
	Campaign(ctx context.Context) (Term, error)
	// Resign ends the term. ErrTermLost means that the znode was gone already. When the context ends first, the delete goes on in
	// the background until the servers have answered or the session is over. After any return the handle can campaign again.
	Resign(ctx context.Context) error
	// Leader is who leads, as far as the session's server knows: the first candidate, who leads or is about to. ErrNoLeader: nobody
	// stands.
	Leader(ctx context.Context) (Leader, error)
}

// Follower is an Election that tells when the leader changes.
type Follower interface {
	Election
	// Follow waits until the leader is another than the one of this token, which is 0 for nobody. The zero Leader is nobody.
	// Leaders that come and go between two calls are missed.
	Follow(ctx context.Context, token int64) (Leader, error)
}

// Leader is who leads.
type Leader struct {
	ID    string // Options.ID
	Path  string
	Token int64 // of its term; 0: nobody leads
}

// Errors of elections.
var (
	// ErrTermLost: the leader's znode was gone before it resigned.
	ErrTermLost = errors.New("the term was over before its leader resigned")
	// ErrNoLeader: there is no candidate.
	ErrNoLeader = errors.New("nobody leads")
)

// Stages of an election, named after the events of LeaderElectionSupport, for Trace.Stage.
const (
	StageStart         = "START"
	StageOffer         = "OFFER_START"
	StageOffered       = "OFFER_COMPLETE"
	StageDetermine     = "DETERMINE_START"
	StageDetermined    = "DETERMINE_COMPLETE"
	StageReady         = "READY_START" // there is somebody before us
	StageReadyComplete = "READY_COMPLETE"
	StageElected       = "ELECTED_START"
	StageElectedDone   = "ELECTED_COMPLETE"
	StageFailed        = "FAILED"
	StageStop          = "STOP_START"
	StageStopped       = "STOP_COMPLETE"
)

func (o Options) stages(names ...string) {
	if o.Trace != nil && o.Trace.Stage != nil {
		for _, name := range names {
			o.Trace.Stage(name)
		}
	}
}

// Elections is the catalogue of leader elections.
var Elections = []Variant[Election]{
	{
		Name: "predecessor", Source: "ZooKeeper's recipe page, 'Leader Election'; the names and the rules of Apache Curator's LeaderLatch",
		Doc:  "candidates are ephemeral sequential znodes, each of which watches the one before it: a leader that goes wakes one",
		FIFO: true, Tokens: true, Wakes: wakesOne, Watch: []string{"get", "exists"},
		New: func(s zk.Session, path string, o Options) Election { return newPredecessorElection(s, path, o) },
	},
	{
		Name: "naive", Source: "ZooKeeper's recipe page, 'Leader Election', the solution that it calls trivial",
		Doc:  "all candidates watch the znode of the leader: when it goes, all of them list all of them, and one leads",
		FIFO: true, Tokens: true, Wakes: func(n int) (float64, float64) { return float64(n - 1), 0 }, Watch: []string{"get", "exists"},
		New: func(s zk.Session, path string, o Options) Election { return &naiveElection{newCandidate(s, path, o)} },
	},
	{
		Name: "selector", Source: "Apache Curator's LeaderSelector, over the candidates of predecessor",
		Doc:  "runs a function while it leads, tells it to end when the connection is lost, resigns whatever becomes of it, and queues again",
		FIFO: true, Tokens: true, Wakes: wakesOne, Watch: []string{"get", "exists"},
		New: func(s zk.Session, path string, o Options) Election { return newSelected(s, path, o) },
	},
}
