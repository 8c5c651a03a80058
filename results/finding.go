package results

import "fmt"

// Finding is the outcome of one variant in one scenario.
type Finding struct {
	Variant  string `json:"variant"`
	Scenario string `json:"scenario"`
	Expected string `json:"expected"` // the violation that must show; "": none may show
	Seen     string `json:"seen"`     // the violation that showed
	Witness  string `json:"witness"`
	Error    string `json:"error,omitempty"` // why the scenario could not be played; nothing was seen then
	// Fencing describes a scenario about clients that are paused before they write.
	Fencing *Fencing `json:"fencing,omitempty"`
}

// StaleWrite is the violation that fences prevent: a write under an expired grant was accepted after a write of the next holder.
const StaleWrite = "stale-write"

// Fencing counts the outcomes of the late writes of paused clients.
type Fencing struct {
	Resource string `json:"resource"` // the resource written: register or znode
	Fenced   bool   `json:"fenced"`
	Fence    string `json:"fence,omitempty"` // token, or transaction: a check of the holder's znode in the transaction that writes
	Accepted int    `json:"accepted_stale"`
	Rejected int    `json:"rejected_stale"`
	Replayed int    `json:"replayed,omitempty"` // rounds that were repeated because a reply was lost or the machine was late
}

// Fault returns the exit code of the finding and the reason: 4 for an unexpected violation, 3 for an expected one that did not show, 1
// for a scenario that could not be played, 0 for the expected outcome.
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
