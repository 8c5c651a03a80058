package results

import "fmt"

// Finding is what came of one variant in one scenario.
type Finding struct {
	Variant  string `json:"variant"`
	Scenario string `json:"scenario"`
	Expected string `json:"expected"` // the violation that has to show; "": none may
	Seen     string `json:"seen"`     // the violation that showed
	Witness  string `json:"witness"`
	Error    string `json:"error,omitempty"` // why the scenario could not be played; nothing was seen then
	// Fencing is what the scenario was, when it was about clients that are paused before they write.
	Fencing *Fencing `json:"fencing,omitempty"`
}

// StaleWrite is the violation that fences prevent: a write with a grant that is over was accepted after one of the next holder.
const StaleWrite = "stale-write"

// Fencing counts what became of the late writes of paused clients.
type Fencing struct {
	Resource string `json:"resource"` // that was written: register or znode
	Fenced   bool   `json:"fenced"`
	Fence    string `json:"fence,omitempty"` // token, or transaction: a check of the holder's znode in the transaction that writes
	Accepted int    `json:"accepted_stale"`
	Rejected int    `json:"rejected_stale"`
	Replayed int    `json:"replayed,omitempty"` // rounds that were played again, because a reply was lost or the machine was late
}

// Fault is the exit code that the finding calls for and why: 4 for a violation that was not expected, 3 for one that did not show, 1
// for a scenario that could not be played, 0 for what was expected.
func (f Finding) Fault() (code int, reason string) {
	where := fmt.Sprintf("%s in %s", f.Variant, f.Scenario)
	switch {
	case f.Error != "":
		return 1, fmt.Sprintf("not played: %s: %s", where, f.Error)
	case f.Seen == f.Expected:
		return 0, ""
	case f.Seen == "":
		return 3, fmt.Sprintf("not shown: %s violated by %s", f.Expected, where)
	}
	return 4, fmt.Sprintf("unexpected violation: %s by %s", f.Seen, where)
}
