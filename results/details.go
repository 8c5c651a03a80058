package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// DetailsFile has what plots need of the histories of cells, a line for each cell. A cell takes a few kilobytes in it, however long it was.
const DetailsFile = "details.jsonl"

// Details is what plots need of the history of one cell. Times of instants are in milliseconds since the start of the cell.
type Details struct {
	Cell      string      `json:"cell"`                // its Name
	Opening   *Opening    `json:"opening,omitempty"`   // of the sessions, before the load
	Cohorts   []Cohort    `json:"cohorts,omitempty"`   // where the time of the operations around a percentile went; steady phase
	Places    []Place     `json:"places,omitempty"`    // how long grants took by how many were before them; steady phase
	Overtaken []Overtaken `json:"overtaken,omitempty"` // how often grants were overtaken; the whole cell
	Shares    []Portion   `json:"shares,omitempty"`    // grants of the sessions, the least first; the whole cell
	Strips    []Strip     `json:"strips,omitempty"`    // what happened to one object for a while
	Depths    []Depth     `json:"depths,omitempty"`    // of all queues over time; the whole cell
	Queues    []Queue     `json:"queues,omitempty"`    // of several, those that were deepest
	// Leaderless is when nobody led an election though somebody wanted to: the steps of the steady phase.
	Leaderless []Vacancy `json:"leaderless,omitempty"`
	Arrivals   []Curve   `json:"arrivals,omitempty"` // how the members of barriers came and were let go; the whole cell
}

// Opening is how long the sessions of a cell took to open, connection and handshake together, each from its first attempt.
type Opening struct {
	Count int64    `json:"count"`
	P50   float64  `json:"p50_ms"`
	P99   *float64 `json:"p99_ms"` // null for fewer than 368
	Max   float64  `json:"max_ms"`
}

// Cohort is the operations around one percentile of the response: those from LowMs to HighMs.
type Cohort struct {
	Op         string             `json:"op"`
	Percentile float64            `json:"percentile"` // 50, 90 or 99
	LowMs      float64            `json:"low_ms"`
	HighMs     float64            `json:"high_ms"`
	Count      int64              `json:"count"`
	ResponseMs float64            `json:"response_ms"` // the mean
	PartsMs    map[string]float64 `json:"parts_ms"`    // of it: lag, and the phases of the operation
}

// Place is the grants that had From to To others before them at the object, holding it or waiting for it, when they asked.
type Place struct {
	From  int      `json:"from"`
	To    int      `json:"to"`
	Count int64    `json:"count"`
	P50   float64  `json:"p50_ms"` // of the response
	P99   *float64 `json:"p99_ms"` // null for fewer than 368
	Max   float64  `json:"max_ms"`
}

// Overtaken is how many grants were overtaken From to To times.
type Overtaken struct {
	From   int `json:"from"`
	To     int `json:"to"`
	Grants int `json:"grants"`
}

// Portion is how many grants the so many sessions with the fewest of them had together.
type Portion struct {
	Sessions int `json:"sessions"`
	Grants   int `json:"grants"`
}

// The reasons of strips.
const (
	StripGap            = "longest gap"    // the longest time without an owner of the steady phase
	StripCounterexample = "counterexample" // of Check
)

// Strip is what happened to one object for a while: who held it, who of these waited for it, and when nobody held it though somebody waited.
type Strip struct {
	Why     string    `json:"why"`
	Check   string    `json:"check,omitempty"` // that was violated
	Object  uint32    `json:"object"`
	Permits int       `json:"permits,omitempty"` // how many may hold it; 0: one, or several that share
	AtMs    float64   `json:"at_ms"`             // of the gap, or when the second one held
	UntilMs float64   `json:"until_ms"`
	FromMs  float64   `json:"from_ms"` // of the strip
	ToMs    float64   `json:"to_ms"`
	Holds   []Tenure  `json:"holds"`
	Waits   []Tenure  `json:"waits,omitempty"`  // of the sessions in Holds
	Idle    []Stretch `json:"idle,omitempty"`   // nobody held it though somebody waited
	Others  int       `json:"others,omitempty"` // sessions that waited and are not in Holds
}

// Stretch is a time.
type Stretch struct {
	FromMs float64 `json:"from_ms"`
	ToMs   float64 `json:"to_ms"`
}

// Tenure is a time of a session.
type Tenure struct {
	Session uint32  `json:"session"`
	FromMs  float64 `json:"from_ms"`
	ToMs    float64 `json:"to_ms"`
	Shared  bool    `json:"shared,omitempty"`
}

// Depth is the queues of a cell at one instant, and the items taken since the one before.
type Depth struct {
	AtMs  float64  `json:"at_ms"`
	Items int      `json:"items"` // whose put had begun, and that nobody had taken
	Taken int      `json:"taken"`
	P50   *float64 `json:"age_p50_ms"` // of the items taken: from when their put was due; null where none was
	Max   *float64 `json:"age_max_ms"`
}

// Queue is one queue over time, at instants StepMs apart.
type Queue struct {
	Object uint32     `json:"object"`
	StepMs float64    `json:"step_ms"`
	Items  []int      `json:"items"`      // as of Depth, at the end of each step
	MaxMs  []*float64 `json:"age_max_ms"` // of the items taken in the step; null where none was
}

// Vacancy is the time without a leader in one step, which begins where the one before ends.
type Vacancy struct {
	UntilMs   float64 `json:"until_ms"`
	FreeMs    float64 `json:"free_ms"`    // of all elections together
	Gaps      int     `json:"gaps"`       // times without a leader that began in the step
	LongestMs float64 `json:"longest_ms"` // of these
}

// Curve is how the members of a barrier came and were let go, over the rounds of a cell. Times are before and after the instant at which the
// barrier opened: the last member came, or its removal was issued.
type Curve struct {
	Op     string `json:"op"`
	Rounds int    `json:"rounds"`
	Left   int    `json:"left_out,omitempty"` // rounds in which somebody did not pass, or passed before the barrier opened
	Ranks  []Rank `json:"ranks"`
}

// Rank is when so many members had come, and been let go.
type Rank struct {
	Members   int     `json:"members"`
	BeforeP50 float64 `json:"before_p50_ms"`
	BeforeP90 float64 `json:"before_p90_ms"`
	AfterP50  float64 `json:"after_p50_ms"`
	AfterP90  float64 `json:"after_p90_ms"`
}

// Empty reports whether there is nothing to tell.
func (d Details) Empty() bool {
	return d.Opening == nil && len(d.Cohorts)+len(d.Places)+len(d.Overtaken)+len(d.Shares)+len(d.Strips)+len(d.Depths)+len(d.Leaderless)+len(d.Arrivals) == 0
}

// Details appends the line of a cell to details.jsonl, and makes the file first.
func (d *Dir) Details(of Details) error {
	line, err := json.Marshal(of)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && d.usable() {
		err = d.appendTo(DetailsFile, append(line, '\n'))
	}
	d.keep(err)
	return d.err
}

// appendTo writes the end of a file that need not be there.
func (d *Dir) appendTo(name string, text []byte) error {
	if !slices.Contains(d.files, name) {
		d.files = append(d.files, name)
	}
	f, err := os.OpenFile(filepath.Join(d.path, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// ReadDetails reads details.jsonl of a run's directory, by the names of the cells. A run without the file, such as one that an older zkbench
// made, has none. A line that an interrupted run left unfinished at the end is dropped.
func ReadDetails(dir string) (map[string]Details, error) {
	all, err := readFile(dir, DetailsFile, func(r io.Reader) (map[string]Details, error) {
		all := map[string]Details{}
		for dec := json.NewDecoder(r); ; {
			var d Details
			err := dec.Decode(&d)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return all, nil
			}
			if err != nil {
				return all, fmt.Errorf("line %d: %w", len(all)+1, err)
			}
			all[d.Cell] = d
		}
	})
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]Details{}, nil
	}
	return all, err
}
