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
	return Check{Name: "nothing-left", Judge: func(history iter.Seq[metrics.Sample]) Verdict {
		var v Verdict
		blind := 0
		for s := range history {
			switch {
			case s.Op != metrics.Left:
			case s.Outcome == metrics.OK:
				v.Evidence++
			case s.Outcome == metrics.Failed:
				v.Evidence++
				v.Count++
				if len(v.Witness) == 0 || s.End < v.Witness[0].End {
					v.Witness = []metrics.Sample{s}
				}
			default:
				blind++
			}
		}
		switch {
		case v.Count > 0:
			v.Answer = Violated
			v.Detail = fmt.Sprintf("something is left under %d of %d paths, first of object %d", v.Count, v.Evidence, v.Witness[0].Object)
		case blind > 0:
			v.Detail = fmt.Sprintf("%d of %d paths could not be looked at", blind, blind+v.Evidence)
		case v.Evidence == 0:
			v.Detail = "no path was looked at"
		default:
			v.Answer = Holds
		}
		return v
	}}
}
