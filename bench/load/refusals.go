package load

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// refusals collects the failed calls of a cell under load. Its methods may be called from several goroutines.
type refusals struct {
	mu  sync.Mutex
	all outcome.Refusals
}

// see is called for each call of a session.
func (r *refusals) see(call *zk.Call, at metrics.Trip) {
	if call.Err == nil || IsAny(call.Err, context.Canceled, context.DeadlineExceeded) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.See(call, at)
}

// soFar returns a copy of what has been seen. A session that removes what it left behind may still be refused.
func (r *refusals) soFar() outcome.Refusals {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	all.Each = maps.Clone(all.Each)
	return all
}

// fails returns how many requests failed, for whatever reason.
func (r *refusals) fails() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.Fails
}

// cause names the request that failed first; it is empty if none did.
func (r *refusals) cause() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.Cause()
}

func IsAny(err error, of ...error) bool {
	return slices.ContainsFunc(of, func(one error) bool { return errors.Is(err, one) })
}
