package check

import (
	"fmt"
	"iter"

	"github.com/zkbench/zkbench/metrics"
)

// MutualExclusion holds when no two grants of one object are held at the same time. A grant is held from the End of its
// Acquire to the Start of the session's next Release of the object; a Release with outcome Lost ends the hold at its Start,
// like any other, and without a Release the grant is held to the end of the history. Holds that only touch are fine, because
// the measured hold lies within the true one. Evidence is the number of grants; the witness is the Acquire and Release samples
// of the two holders; Count is the number of grants made while another was held.
func MutualExclusion() Check {
	return exclusive("mutual-exclusion", locked, "nothing was granted",
		"session %d was granted object %d at %v while session %d had held it since %v")
}

// exclusive judges that no two of the spans of one object are there at once. clash tells who came when, and who was there since when.
func exclusive(name string, of pairs, nothing, clash string) Check {
	return Check{Name: name, Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		grants := spans(history, of)
		if len(grants) == 0 {
			return Verdict{Detail: nothing}
		}
		count, first := sweep(grants, alone)
		if count == 0 {
			return Verdict{Answer: Holds, Evidence: len(grants)}
		}
		holder, intruder := first.holder.begin, first.intruder.begin
		return Verdict{Answer: Violated, Evidence: len(grants), Count: count, Witness: witness(first.holder, first.intruder),
			Detail: fmt.Sprintf(clash, intruder.Session, intruder.Object, intruder.End, holder.Session, holder.End)}
	}}
}

// NothingLeft holds when every znode path looked at after the run (operation Left) was found clean. A path that could not be
// looked at, whose outcome is neither OK nor Failed, leaves the answer open. Evidence is the number of paths looked at.
func NothingLeft() Check {
	return examined("nothing-left", metrics.Left, "something is left under %d of %d paths, first of object %d",
		"%d of %d paths could not be looked at", "no path was looked at")
}

// examined judges what an operation found when it looked after the run: OK is as it should be, Failed is what found, with the count, the
// evidence and the object, says, and any other outcome leaves the answer open. blind has the counts of these and of all, nothing none.
func examined(name string, op metrics.Op, found, blind, nothing string) Check {
	return Check{Name: name, Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		var v Verdict
		open := 0
		for s := range history {
			switch {
			case s.Op != op:
			case s.Outcome == metrics.OK:
				v.Evidence++
			case s.Outcome == metrics.Failed:
				v.Evidence++
				v.Count++
				if len(v.Witness) == 0 || s.End < v.Witness[0].End {
					v.Witness = []metrics.Sample{s}
				}
			default:
				open++
			}
		}
		switch {
		case v.Count > 0:
			v.Answer = Violated
			v.Detail = fmt.Sprintf(found, v.Count, v.Evidence, v.Witness[0].Object)
		case open > 0:
			v.Detail = fmt.Sprintf(blind, open, open+v.Evidence)
		case v.Evidence == 0:
			v.Detail = nothing
		default:
			v.Answer = Holds
		}
		return v
	}}
}
