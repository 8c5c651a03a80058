package check

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/metrics/spill"
)

// NoLostRevoke holds when every holder was notified of the revocation of its grant before it took too long (see conditions): a write and a wake-up. A Revoke has
// the token of the grant that it asks for; the holder's notification is a Deliver with that token. A grant that was given up before that anyway is no evidence,
// nor is one without a token. What the holder does about it is not judged. Evidence is the number of revocations that the holder was notified of, or should have
// been; Witness holds the Revoke, and the Release or ReadRelease that ended the grant, if there was one.
func NoLostRevoke(bound time.Duration) Check {
	return Check{Name: "no-lost-revoke", Severity: Late, Judge: func(history iter.Seq[metrics.Sample], room *spill.Room) Verdict {
		c := newConditions(room)
		defer c.close()
		for s := range history {
			c.see(s)
		}
		c.settle(bound)
		within := func(from, to time.Duration) bool {
			return !c.overdue(from, to, bound, 2, func(uint32) bool { return true })
		}
		takes := func(s *metrics.Sample) bool {
			return s.Token != 0 && (s.Op == metrics.Revoke || s.Op == metrics.Deliver && s.Outcome == metrics.OK || s.Op == metrics.Release || s.Op == metrics.ReadRelease)
		}
		compare := func(a, b *metrics.Sample) int {
			return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Token, b.Token), cmp.Compare(a.Start, b.Start), inTime(*a, *b))
		}
		together := func(a, b *metrics.Sample) bool { return a.Object == b.Object && a.Token == b.Token }
		var v Verdict
		for grant := range groups(history, room, takes, compare, together) {
			notified, release := forever, metrics.Sample{}
			for _, s := range grant {
				switch {
				case s.Op == metrics.Deliver:
					notified = min(notified, s.End)
				case s.Op != metrics.Revoke && release.Op == metrics.OpNone:
					release = s
				}
			}
			heard, ended := notified != forever, release.Op != metrics.OpNone
			for _, r := range grant {
				switch {
				case r.Op != metrics.Revoke:
					continue
				case heard && within(r.Start, notified):
					v.Evidence++
					continue
				case ended && within(r.Start, release.Start):
					continue
				case !ended && !heard && within(r.Start, r.End): // it is not known how long it was held
					continue
				}
				v.Evidence++
				v.Count++
				if v.Count > 1 && r.Start >= v.Witness[0].Start {
					continue
				}
				v.Witness = []metrics.Sample{r}
				if ended {
					v.Witness = append(v.Witness, release)
				}
			}
		}
		switch {
		case v.Count > 0:
			v.Answer = Violated
			r := v.Witness[0]
			v.Detail = fmt.Sprintf("session %d asked at %v for the grant %d of object %d, and its holder was not notified within %v", r.Session, r.Start,
				r.Token, r.Object, c.limit(bound, 2))
		case v.Evidence == 0:
			v.Detail = "no holder was asked for its grant"
		default:
			v.Answer = Holds
		}
		return v
	}}
}
