package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/zk"
)

// refusals counts what the servers refused to the sessions of a cell for a reason that is no part of any recipe, and keeps the first.
type refusals struct {
	mu     sync.Mutex
	n      int
	first  error
	failed error // the first request that failed, for whatever reason; nil: none did
	fails  int   // requests that failed, for whatever reason
}

func (r *refusals) see(err error) {
	if err == nil || isAny(err, context.Canceled, context.DeadlineExceeded) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails++; r.failed == nil {
		r.failed = err
	}
	if !isAny(err, zk.ErrNoAuth, zk.ErrInvalidACL, zk.ErrQuota, zk.ErrBadArguments, zk.ErrUnimplemented, zk.ErrReadOnly, zk.ErrThrottled, zk.ErrFailed,
		zk.ErrAuthFailed, zk.ErrAuthRequired) {
		return
	}
	if r.n++; r.n == 1 {
		r.first = err
	}
}

// all is how many requests failed, for whatever reason.
func (r *refusals) all() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fails
}

// cause says which request failed first; empty if none did.
func (r *refusals) cause() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		return ""
	}
	return fmt.Sprintf("; the first request that failed: %v", access.Explain(r.failed))
}

func isAny(err error, of ...error) bool {
	return slices.ContainsFunc(of, func(one error) bool { return errors.Is(err, one) })
}

// note tells of the refusals, with the remedy for the first; empty if there were none.
func (r *refusals) note() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 0 {
		return ""
	}
	return fmt.Sprintf("the servers refused %s; the first: %v", phrase.Count(r.n, "request"), access.Explain(r.first))
}
