package outcome

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/zk"
)

// Refusals is what the servers refused to the sessions of a cell for a reason unrelated to any recipe.
type Refusals struct {
	N     int
	First error
	// Each holds the first refusal of each session, and its first refused removal.
	Each   map[Refuser]Refusal
	Failed error // the first request that failed, for whatever reason; nil if none did
	Fails  int   // requests that failed, for whatever reason
}

// Refuser is a session (0: none, a look), and either 0 or metrics.Removal.
type Refuser struct {
	Session uint32
	Value   int64
}

// Refusal is a refused request as a sample, and its error.
type Refusal struct {
	metrics.Sample
	Err error
}

// See records a failed call. It is not safe for concurrent use.
func (r *Refusals) See(call *zk.Call, at metrics.Trip) {
	if r.Fails++; r.Failed == nil {
		r.Failed = call.Err
	}
	if !zk.Refused(call.Err) {
		return
	}
	if r.N++; r.N == 1 {
		r.First = call.Err
	}
	s := metrics.Sample{Op: metrics.Refused, Session: at.Session, Due: at.Start, Start: at.Start, End: at.End}
	if call.Kind == zk.KindDelete || slices.ContainsFunc(call.Ops, func(op zk.Op) bool { return op.Kind == zk.KindDelete }) {
		s.Value = metrics.Removal
	}
	if r.Each == nil {
		r.Each = map[Refuser]Refusal{}
	}
	key, removal := Refuser{s.Session, s.Value}, Refuser{s.Session, metrics.Removal}
	if r.Each[key].Err == nil && r.Each[removal].Err == nil {
		r.Each[key] = Refusal{s, call.Err}
	}
}

// record passes to the checks the first request and the first removal that were refused to each session.
func (r *Refusals) record(to metrics.Recorder) {
	for _, one := range r.Each {
		to.Record(one.Sample)
	}
}

// of names the refused request of a sample, with the remedy; it is empty if there is none.
func (r *Refusals) of(s metrics.Sample) string {
	one := r.Each[Refuser{s.Session, s.Value}]
	if s.Op != metrics.Refused || one.Err == nil {
		return ""
	}
	return access.Explain(one.Err).Error()
}

// Cause names the request that failed first; it is empty if none did.
func (r *Refusals) Cause() string {
	if r.Failed == nil {
		return ""
	}
	return fmt.Sprintf("; the first request that failed: %v", access.Explain(r.Failed))
}

// refusedNote is the start of the note on what the servers refused.
const refusedNote = "the servers refused "

// note describes the refusals, with the remedy for the first; it is empty if there were none.
func (r *Refusals) note() string {
	if r.N == 0 {
		return ""
	}
	return fmt.Sprintf(refusedNote+"%s; the first: %v", phrase.Count(r.N, "request"), access.Explain(r.First))
}

// refused returns the notes of the shares on what the servers refused.
func (m *Merged) refused() (notes []string) {
	for _, s := range m.Shares {
		for _, note := range s.Cell.Notes {
			if strings.HasPrefix(note, refusedNote) {
				notes = append(notes, fmt.Sprintf("share %d: %s", s.Run.Share.Number, note))
			}
		}
	}
	return notes
}
