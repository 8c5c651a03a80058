package bench

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
)

// ofSessions adds up what the sessions of the shares had of a fault, the next one after some. Each share counted them by its own clock, on which the fault is
// as long after the start as on that of the first. What not every share told is not known.
func (m *mergedCell) ofSessions(before []results.Fault, r *results.Fault) {
	parts, back := m.faultParts(before, *r)
	for _, p := range parts {
		r.SessionsExpired, r.Orphans = r.SessionsExpired+p.SessionsExpired, r.Orphans+p.Orphans
	}
	if len(parts) < len(m.shares) || m.partial() {
		return
	}
	r.SessionsMoved = sumOf(parts, func(p results.Fault) *int { return p.SessionsMoved })
	r.SessionsCut = sumOf(parts, func(p results.Fault) *int { return p.SessionsCut })
	if r.SessionsCut == nil || *r.SessionsCut == 0 {
		return
	}
	backOf(back, r)
	r.Reconnecting = parts[0].Reconnecting // of a share without clients that were cut off nobody counted what they sent meanwhile
	for _, p := range parts[1:] {
		r.Reconnecting = r.Reconnecting.And(p.Reconnecting)
	}
	parts = slices.DeleteFunc(parts, func(p results.Fault) bool { return *p.SessionsCut == 0 })
	r.LinksCut = sumOf(parts, func(p results.Fault) *int { return p.LinksCut })
	r.Handshakes = sumOf(parts, func(p results.Fault) *int { return p.Handshakes })
}

// faultParts is what the shares tell of a fault that comes after some, and when the clients were back that it had cut off.
func (m *mergedCell) faultParts(before []results.Fault, r results.Fault) (parts []results.Fault, back []time.Duration) {
	nth := 0
	for _, f := range before {
		if f.Unplanned == r.Unplanned {
			nth++
		}
	}
	seen := -1 // losses of a leader that nobody planned each share notices by itself
	for _, s := range m.shares {
		n := 0
		for i, f := range s.cell.Faults {
			if f.Unplanned != r.Unplanned {
				continue
			}
			if n == nth && f.Kind == r.Kind && i < len(s.part.Back) {
				parts, back = append(parts, f), append(back, s.part.Back[i]...)
			}
			n++
		}
		if r.Unplanned && seen >= 0 && n != seen {
			return nil, nil
		}
		seen = n
	}
	return parts, back
}

// sumOf adds up what each tells; nil where one does not.
func sumOf(all []results.Fault, of func(results.Fault) *int) *int {
	sum := 0
	for _, f := range all {
		n := of(f)
		if n == nil {
			return nil
		}
		sum += *n
	}
	return &sum
}
