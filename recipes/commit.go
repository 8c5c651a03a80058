package recipes

import (
	"context"
	"errors"
)

// Commit is one site's part in one transaction of a two-phase commit: Options.Members sites vote, and either all of them commit or none does.
// Options.Site says which of them this is. A site that crashed resumes its part with a new handle. A handle must not be used concurrently. The path
// of a transaction is never reused for another one.
type Commit interface {
	// Propose starts the transaction, atomically. The others have Options.Deadline from when they learn of it. The site that proposes a transaction
	// is its coordinator and need not learn of it. ErrProposed means that there is already a transaction at this path. If the context ends in doubt,
	// a transaction that was started nevertheless aborts at its deadline.
	Propose(ctx context.Context, payload []byte) error
	// Learn waits until the transaction exists, and reads it.
	Learn(ctx context.Context) (payload []byte, err error)
	// Vote casts this site's vote. It may be cast again if it is the same; ErrVoted means that a different one was cast before. ErrNoTransaction
	// means that the transaction is over and has been removed.
	Vote(ctx context.Context, commit bool) error
	// Decide waits for the decision and returns it, waiting no longer than the deadline, after which a site decides to abort unless there is a
	// decision already. After an error the site is in doubt: it has to ask again, with this handle or, after a crash, with a new one.
	Decide(ctx context.Context) (commit bool, err error)
	// Finish notes that this site has carried out the decision. The last site to do so removes the transaction.
	Finish(ctx context.Context) error
}

// Errors of two-phase commits.
var (
	// ErrProposed: Propose of a transaction that already exists.
	ErrProposed = errors.New("the transaction has been proposed already")
	// ErrVoted: this site has already cast a different vote.
	ErrVoted = errors.New("the site has voted otherwise")
	// ErrNoTransaction: it does not exist, or no longer exists.
	ErrNoTransaction = errors.New("no such transaction")
	// ErrNotLearnt: the handle has neither proposed the transaction nor learnt of it.
	ErrNotLearnt = errors.New("the site has not learnt of the transaction")
)
