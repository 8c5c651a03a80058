package recipes

import (
	"context"
	"errors"
)

// Term is a leader's time in office.
type Term struct {
	Path string // the leader's znode
	// Token is the number of the term: the czxid of the leader's znode, which grows from leader to leader, so that it can fence.
	Token int64
	// Suspended is closed when the leader has no connection to a server. The leader must then pause: it can no longer know that it leads. Campaign resumes
	// the term if possible, or starts another.
	Suspended <-chan struct{}
	// Lost is closed when the term has ended for good: the lease of the session has ended (see zk.Session.Lease), or the leader's znode is gone, by Resign or by somebody else.
	Lost <-chan struct{}
}

// Election is one client's handle on the election of one leader among many candidates. A handle must not be used concurrently, except for Leader and Follow.
type Election interface {
	// Campaign takes a place among the candidates, waits until this client leads, and returns its term. A leader whose term was suspended campaigns
	// again: while its znode exists it resumes with the same token, otherwise it is a candidate like any other. A candidate whose znode is deleted by
	// somebody creates another one. After an error this client neither leads nor is a candidate, and the znode of this call is gone or will be as
	// soon as the session is connected again.
	Campaign(ctx context.Context) (Term, error)
	// Resign ends the term. ErrTermLost means that the znode was already gone. If the context ends first, the delete continues in the background
	// until the servers have answered or the session has ended. After any return the handle can campaign again.
	Resign(ctx context.Context) error
	// Leader returns the leader, as far as the session's server knows: the first candidate, which leads or is about to. ErrNoLeader: there is no candidate.
	Leader(ctx context.Context) (Leader, error)
}

// Follower is an Election that reports when the leader changes.
type Follower interface {
	Election
	// Follow waits until the leader is not the one with this token, which is 0 for no leader. The zero Leader means that nobody leads. Leaders that
	// come and go between two calls are missed.
	Follow(ctx context.Context, token int64) (Leader, error)
}

// Leader identifies the current leader.
type Leader struct {
	ID    string // Options.ID
	Path  string
	Token int64 // of its term; 0 if nobody leads
}

// Errors of elections.
var (
	// ErrTermLost: the leader's znode was gone before it resigned.
	ErrTermLost = errors.New("the term was over before its leader resigned")
	// ErrNoLeader: there is no candidate.
	ErrNoLeader = errors.New("nobody leads")
)
