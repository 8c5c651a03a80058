package results

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/internal/phrase"
)

// Faithful is the name of the check that a replay is like its recording. It holds, or it is unknown: a replay that is not faithful is no evidence of how the
// servers carry the recorded load.
const Faithful = "faithful"

// Fidelity says how far a replay was like its recording.
type Fidelity struct {
	Speed     float64        `json:"speed"` // 0: as fast as the order of the recording allows
	Requests  int64          `json:"requests"`
	Divergent int64          `json:"divergent"` // of Requests: not sent, sent late, or answered differently
	Tolerated float64        `json:"tolerated"` // share of Divergent up to which a replay is faithful
	Unsent    int64          `json:"unsent"`
	Late      int64          `json:"late"` // sent more than LateAfter after they were due
	LateAfter float64        `json:"late_after_s"`
	Unmapped  int64          `json:"unmapped"` // named a znode whose create had failed
	Differ    []Difference   `json:"differ,omitempty"`
	LeftOut   map[string]int `json:"left_out,omitempty"` // recorded requests that cannot be sent, by kind; they diverge
	Replaced  map[string]int `json:"replaced,omitempty"` // recorded requests that are sent as others, by kind
	Drawn     int64          `json:"drawn,omitempty"`    // reads whose kinds and paths were not recorded
	Waits     int64          `json:"waits"`              // requests that waited for those of other sessions
	WaitedS   float64        `json:"waited_s"`
	LagP50    float64        `json:"lag_p50_ms"`
	LagP99    float64        `json:"lag_p99_ms"`
	LagMax    float64        `json:"lag_max_ms"`
	Sessions  int64          `json:"sessions"` // recorded
	Expiries  int64          `json:"expiries"` // of these, those that expired
	Vanished  int64          `json:"vanished"` // sessions that were left to expire
	Timeouts  int64          `json:"other_timeouts,omitempty"`
	Events    int64          `json:"events"`   // watch events that were recorded
	Received  int64          `json:"received"` // watch events that arrived
	First     []Divergence   `json:"first,omitempty"`
}

// Difference is how often answers of a kind differ in the same way.
type Difference struct {
	What  string `json:"what"`
	Want  string `json:"want"` // as recorded
	Got   string `json:"got"`
	Count int64  `json:"count"`
}

// Divergence is one answer that differs from its recording.
type Divergence struct {
	Due     float64 `json:"due_s"`   // since the start of the cell
	Session int     `json:"session"` // in the recording
	What    string  `json:"what"`
	Path    string  `json:"path,omitempty"` // in the recording
	Want    string  `json:"want"`
	Got     string  `json:"got"`
}

// Share returns the share of the requests that diverge.
func (f Fidelity) Share() float64 { return float64(f.Divergent) / float64(max(f.Requests, 1)) }

// Faithful reports whether the replay was like its recording.
func (f Fidelity) Faithful() bool { return f.Requests > 0 && f.Share() <= f.Tolerated }

// Check returns the verdict as a check.
func (f Fidelity) Check() Check {
	c := Check{Name: Faithful, Verdict: "holds", Evidence: int(f.Requests)}
	if !f.Faithful() {
		c.Verdict, c.Count, c.Detail = "unknown", int(f.Divergent), f.String()
	}
	return c
}

// String says how much diverges, and how.
func (f Fidelity) String() string {
	verdict := "faithful"
	if !f.Faithful() {
		verdict = "not faithful"
	}
	text := fmt.Sprintf("%s: %.2f %% of %s diverge", verdict, 100*f.Share(), phrase.Count(f.Requests, "request"))
	var ways []string
	add := func(n int64, what string) {
		if n > 0 {
			ways = append(ways, fmt.Sprintf("%d %s", n, what))
		}
	}
	differ := int64(0)
	for _, d := range f.Differ {
		differ += d.Count
	}
	left := int64(0)
	for _, n := range f.LeftOut {
		left += int64(n)
	}
	add(f.Unsent, "not sent")
	add(f.Late, fmt.Sprintf("sent more than %g s late", f.LateAfter))
	add(differ, "answered differently")
	add(f.Unmapped, "of znodes that had not been created")
	add(left, "of the recording cannot be sent")
	if len(ways) > 0 {
		text += " (" + strings.Join(ways, ", ") + ")"
	}
	return text
}
