package recipes

import (
	"context"
	"errors"
)

// Commit is one site's part in one transaction of a two-phase commit: Options.Members sites vote, and either all of them commit or none
// does. Options.Site says which of them this one is. A site that crashed takes up its part again with a new handle. A handle is used by one
// goroutine at a time. The path of a transaction is never used for another one.
type Commit interface {
	// Propose begins the transaction: all of it is there, or nothing. The others have Options.Deadline from when they learn of it. Who
	// proposes a transaction is its coordinator and need not learn of it. ErrProposed means that there is a transaction at this path already.
	// When the context ends in doubt, a transaction that was begun all the same aborts at its deadline.
	Propose(ctx context.Context, payload []byte) error
	// Learn waits until the transaction is there, and reads it.
	Learn(ctx context.Context) (payload []byte, err error)
	// Vote casts this site's vote. It can be cast again when it is the same; ErrVoted means that another one was cast before.
	// ErrNoTransaction means that all of it is over and gone.
	Vote(ctx context.Context, commit bool) error
	// Decide waits for the decision and tells it: at most until the deadline, after which a site decides to abort unless it is decided
	// already. With an error the site is in doubt: it has to ask again, with this handle or, after a crash, with a new one.
	Decide(ctx context.Context) (commit bool, err error)
	// Finish says that this site has carried out the decision. The last of them removes the transaction.
	Finish(ctx context.Context) error
}

// Errors of two-phase commits.
var (
	// ErrProposed: Propose of a transaction that is there already.
	ErrProposed = errors.New("the transaction has been proposed already")
	// ErrVoted: this site has voted, otherwise.
	ErrVoted = errors.New("the site has voted otherwise")
	// ErrNoTransaction: it is not there, or not there any more.
	ErrNoTransaction = errors.New("no such transaction")
	// ErrNotLearnt: the handle has neither proposed the transaction nor learnt of it.
	ErrNotLearnt = errors.New("the site has not learnt of the transaction")
)
