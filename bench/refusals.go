package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// refusals counts what the servers refused to the sessions of a cell for a reason that is no part of any recipe, and keeps the first of all, and that of
// each session.
type refusals struct {
	mu     sync.Mutex
	n      int
	first  error
	each   map[whose]refusal
	failed error // the first request that failed, for whatever reason; nil: none did
	fails  int   // requests that failed, for whatever reason
}

// whose refusal is kept: the first of a session (0), and the first that would have removed something (metrics.Removal).
type whose struct {
	session uint32
	value   int64
}

type refusal struct {
	sample metrics.Sample
	err    error
}

// see is told of a call of a session.
func (r *refusals) see(call zk.Call, at metrics.Trip) {
	err := call.Err
	if err == nil || isAny(err, context.Canceled, context.DeadlineExceeded) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fails++; r.failed == nil {
		r.failed = err
	}
	if !zk.Refused(err) {
		return
	}
	if r.n++; r.n == 1 {
		r.first = err
	}
	s := metrics.Sample{Op: metrics.Refused, Session: at.Session, Due: at.Start, Start: at.Start, End: at.End}
	if call.Kind == zk.KindDelete || slices.ContainsFunc(call.Ops, func(op zk.Op) bool { return op.Kind == zk.KindDelete }) {
		s.Value = metrics.Removal
	}
	if r.each == nil {
		r.each = map[whose]refusal{}
	}
	key, removal := whose{s.Session, s.Value}, whose{s.Session, metrics.Removal}
	if r.each[key].err == nil && r.each[removal].err == nil {
		r.each[key] = refusal{s, err}
	}
}

// record gives the checks the first request that was refused to each session, and the first removal.
func (r *refusals) record(to metrics.Recorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.each {
		to.Record(one.sample)
	}
}

// of says which request a sample is of, with the remedy; empty if it is of none.
func (r *refusals) of(s metrics.Sample) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.each[whose{s.Session, s.Value}]
	if s.Op != metrics.Refused || one.err == nil {
		return ""
	}
	return access.Explain(one.err).Error()
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

// refusedNote begins the note of what the servers refused.
const refusedNote = "the servers refused "

// note tells of the refusals, with the remedy for the first; empty if there were none.
func (r *refusals) note() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n == 0 {
		return ""
	}
	return fmt.Sprintf(refusedNote+"%s; the first: %v", phrase.Count(r.n, "request"), access.Explain(r.first))
}

// refused is what the servers refused to each share.
func (m *mergedCell) refused() (notes []string) {
	for _, s := range m.shares {
		for _, note := range s.cell.Notes {
			if strings.HasPrefix(note, refusedNote) {
				notes = append(notes, fmt.Sprintf("share %d: %s", s.Run.Share.Number, note))
			}
		}
	}
	return notes
}
