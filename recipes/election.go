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
	// Suspended is closed when the leader has no connection to a server. It must pause then: it can no longer know that it leads.
	// Campaign goes on with the term when it can, or begins another.
	Suspended <-chan struct{}
	// Lost is closed when the term is over without a return: the lease of the session is over (see zk.Session.Lease), or the
	// leader's znode is gone, by Resign or by somebody else.
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
	// Leader is the leader, as far as the session's server knows: the first candidate, which leads or is about to. ErrNoLeader: there is no
	// candidate.
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
