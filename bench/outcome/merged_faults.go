package outcome

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
)

// sessionsOf adds up the effects of a fault on the sessions of the shares; the fault follows those in before. Each share counted them by its own clock, on
// which the fault is as long after the start as on that of the first. What some share did not report is unknown.
func (m *Merged) sessionsOf(before []results.Fault, r *results.Fault) {
	parts, back := m.faultParts(before, *r)
	for _, p := range parts {
		r.SessionsExpired, r.Orphans = r.SessionsExpired+p.SessionsExpired, r.Orphans+p.Orphans
	}
	if len(parts) < len(m.Shares) || m.Partial() {
		return
	}
	r.SessionsMoved = sumOf(parts, func(p results.Fault) *int { return p.SessionsMoved })
	r.SessionsCut = sumOf(parts, func(p results.Fault) *int { return p.SessionsCut })
	if r.SessionsCut == nil || *r.SessionsCut == 0 {
		return
	}
	backOf(back, r)
	r.Reconnecting = parts[0].Reconnecting // a share without clients that were cut off did not count what they sent meanwhile
	for _, p := range parts[1:] {
		r.Reconnecting = r.Reconnecting.And(p.Reconnecting)
	}
	parts = slices.DeleteFunc(parts, func(p results.Fault) bool { return *p.SessionsCut == 0 })
	r.LinksCut = sumOf(parts, func(p results.Fault) *int { return p.LinksCut })
	r.Handshakes = sumOf(parts, func(p results.Fault) *int { return p.Handshakes })
}

// faultParts returns what the shares report about the fault that follows those in before, and when the clients that it cut off were back.
func (m *Merged) faultParts(before []results.Fault, r results.Fault) (parts []results.Fault, back []time.Duration) {
	nth := 0
	for _, f := range before {
		if f.Unplanned == r.Unplanned {
			nth++
		}
	}
	seen := -1 // each share detects unplanned losses of a leader separately
	for _, s := range m.Shares {
		n := 0
		for i, f := range s.Cell.Faults {
			if f.Unplanned != r.Unplanned {
				continue
			}
			if n == nth && f.Kind == r.Kind && i < len(s.Part.Back) {
				parts, back = append(parts, f), append(back, s.Part.Back[i]...)
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

// sumOf sums a figure over all faults; it returns nil if one does not report it.
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
