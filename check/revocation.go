package check

import (
	"fmt"
	"iter"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// NoLostRevoke holds when every holder was told of the revocation of its grant within bound, the time of faults (operation Fault) apart. A
// Revoke carries the token of the grant that it asks for; the holder is told by a Deliver with that token. A grant that was given up
// within bound all the same is no evidence either way, nor is one without a token. What the holder does about it is its own affair, and
// is not judged. Evidence is the number of revocations that the holder was told of, or should have been; the witness is the Revoke, and
// the Release or ReadRelease that ended the grant, if there was one.
func NoLostRevoke(bound time.Duration) Check {
	return Check{Name: "no-lost-revoke", Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		type grant struct {
			object uint32
			token  int64
		}
		var revokes []metrics.Sample
		var faults []span
		told, given := map[grant]time.Duration{}, map[grant]metrics.Sample{}
		for s := range history {
			of := grant{s.Object, s.Token}
			switch {
			case s.Op == metrics.Fault:
				faults = append(faults, span{from: s.Start, to: s.End})
			case s.Token == 0:
			case s.Op == metrics.Revoke:
				revokes = append(revokes, s)
			case s.Op == metrics.Deliver && s.Outcome == metrics.OK:
				if at, known := told[of]; !known || s.End < at {
					told[of] = s.End
				}
			case s.Op == metrics.Release || s.Op == metrics.ReadRelease:
				if r, known := given[of]; !known || s.Start < r.Start {
					given[of] = s
				}
			}
		}
		var v Verdict
		faults = united(faults)
		within := func(from, to time.Duration) bool { return to-from-common(faults, from, to) <= bound }
		for _, r := range revokes {
			of := grant{r.Object, r.Token}
			at, heard := told[of]
			release, ended := given[of]
			switch {
			case heard && within(r.Start, at):
				v.Evidence++
				continue
			case ended && within(r.Start, release.Start):
				continue
			case !ended && !heard && within(r.Start, r.End): // nobody knows how long it was held
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
		switch {
		case v.Count > 0:
			v.Answer = Violated
			r := v.Witness[0]
			v.Detail = fmt.Sprintf("session %d asked at %v for the grant %d of object %d, and its holder was not told within %v", r.Session, r.Start,
				r.Token, r.Object, bound)
		case v.Evidence == 0:
			v.Detail = "no holder was asked for its grant"
		default:
			v.Answer = Holds
		}
		return v
	}}
}
