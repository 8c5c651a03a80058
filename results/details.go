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

// DetailsFile holds what plots need from the histories of cells, one line per cell. A cell takes a few kilobytes, however long it ran.
const DetailsFile = "details.jsonl"

// Details is what plots need from the history of one cell. Instants are in milliseconds since the start of the cell.
type Details struct {
	Cell      string      `json:"cell"`                // its Name
	Opening   *Opening    `json:"opening,omitempty"`   // opening of the sessions, before the load
	Cohorts   []Cohort    `json:"cohorts,omitempty"`   // where the time of operations near a percentile went; steady phase
	Places    []Place     `json:"places,omitempty"`    // how long grants took by the number of requests before them; steady phase
	Overtaken []Overtaken `json:"overtaken,omitempty"` // how often grants were overtaken; the whole cell
	Shares    []Portion   `json:"shares,omitempty"`    // grants of the sessions, the smallest number first; the whole cell
	Strips    []Strip     `json:"strips,omitempty"`    // what happened to one object during a stretch
	Depths    []Depth     `json:"depths,omitempty"`    // of all queues over time; the whole cell
	Queues    []Queue     `json:"queues,omitempty"`    // the deepest ones, if there are several
	// Leaderless says when an election had no leader although somebody wanted to lead, in steps of the steady phase.
	Leaderless []Vacancy `json:"leaderless,omitempty"`
	Arrivals   []Curve   `json:"arrivals,omitempty"` // how the members of barriers arrived and were released; the whole cell
}

// Opening is how long the sessions of a cell took to open, including connection and handshake, each from its first attempt.
type Opening struct {
	Count int64    `json:"count"`
	P50   float64  `json:"p50_ms"`
	P99   *float64 `json:"p99_ms"` // null for fewer than 368 samples
	Max   float64  `json:"max_ms"`
}

// Cohort is the operations near one percentile of the response: those between LowMs and HighMs.
type Cohort struct {
	Op         string             `json:"op"`
	Percentile float64            `json:"percentile"` // 50, 90 or 99
	LowMs      float64            `json:"low_ms"`
	HighMs     float64            `json:"high_ms"`
	Count      int64              `json:"count"`
	ResponseMs float64            `json:"response_ms"` // the mean
	PartsMs    map[string]float64 `json:"parts_ms"`    // parts of the mean: lag, and the phases of the operation
}

// Place is the grants that, when requested, had From to To others before them at the object, holding it or waiting for it.
type Place struct {
	From  int      `json:"from"`
	To    int      `json:"to"`
	Count int64    `json:"count"`
	P50   float64  `json:"p50_ms"` // of the response
	P99   *float64 `json:"p99_ms"` // null for fewer than 368 samples
	Max   float64  `json:"max_ms"`
}

// Overtaken is the number of grants that were overtaken From to To times.
type Overtaken struct {
	From   int `json:"from"`
	To     int `json:"to"`
	Grants int `json:"grants"`
}

// Portion is the total number of grants of the given number of sessions with the fewest.
type Portion struct {
	Sessions int `json:"sessions"`
	Grants   int `json:"grants"`
}

// The reasons of strips.
const (
	StripGap            = "longest gap"    // the longest time in the steady phase without an owner
	StripCounterexample = "counterexample" // counterexample to Check
)

// Strip is what happened to one object during a stretch: who held it, which of these waited for it, and when it was free although somebody waited.
type Strip struct {
	Why     string    `json:"why"`
	Check   string    `json:"check,omitempty"` // the violated check
	Object  uint32    `json:"object"`
	Permits int       `json:"permits,omitempty"` // how many may hold it; 0: one, or several that share
	AtMs    float64   `json:"at_ms"`             // start of the gap, or when the second one held
	UntilMs float64   `json:"until_ms"`
	FromMs  float64   `json:"from_ms"` // start of the strip
	ToMs    float64   `json:"to_ms"`
	Holds   []Tenure  `json:"holds"`
	Waits   []Tenure  `json:"waits,omitempty"`  // of the sessions in Holds
	Idle    []Stretch `json:"idle,omitempty"`   // nobody held it although somebody waited
	Others  int       `json:"others,omitempty"` // sessions that waited but are not in Holds
}

// Stretch is a period of time.
type Stretch struct {
	FromMs float64 `json:"from_ms"`
	ToMs   float64 `json:"to_ms"`
}

// Tenure is a period of time of one session.
type Tenure struct {
	Session uint32  `json:"session"`
	FromMs  float64 `json:"from_ms"`
	ToMs    float64 `json:"to_ms"`
	Shared  bool    `json:"shared,omitempty"`
}

// Depth is the state of a cell's queues at one instant, and the items taken since the previous one.
type Depth struct {
	AtMs  float64  `json:"at_ms"`
	Items int      `json:"items"` // whose put had started and that nobody had taken
	Taken int      `json:"taken"`
	P50   *float64 `json:"age_p50_ms"` // of the items taken, from when their put was due; null if none was taken
	Max   *float64 `json:"age_max_ms"`
}

// Queue is one queue over time, at instants StepMs apart.
type Queue struct {
	Object uint32     `json:"object"`
	StepMs float64    `json:"step_ms"`
	Items  []int      `json:"items"`      // as in Depth, at the end of each step
	MaxMs  []*float64 `json:"age_max_ms"` // of the items taken in the step; null if none was taken
}

// Vacancy is the time without a leader in one step, which starts where the previous one ends.
type Vacancy struct {
	UntilMs   float64 `json:"until_ms"`
	FreeMs    float64 `json:"free_ms"`    // sum over all elections
	Gaps      int     `json:"gaps"`       // leaderless periods that started in the step
	LongestMs float64 `json:"longest_ms"` // the longest of these
}

// Curve is how the members of a barrier arrived and were released, over the rounds of a cell. Times are relative to the instant at which the
// barrier opened: the last member arrived, or its removal was issued.
type Curve struct {
	Op     string `json:"op"`
	Rounds int    `json:"rounds"`
	Left   int    `json:"left_out,omitempty"` // rounds in which a member did not pass, or passed before the barrier opened
	Ranks  []Rank `json:"ranks"`
}

// Rank is when a given number of members had arrived, and had been released.
type Rank struct {
	Members   int     `json:"members"`
	BeforeP50 float64 `json:"before_p50_ms"`
	BeforeP90 float64 `json:"before_p90_ms"`
	AfterP50  float64 `json:"after_p50_ms"`
	AfterP90  float64 `json:"after_p90_ms"`
}

// Empty reports whether there are no details.
func (d Details) Empty() bool {
	return d.Opening == nil && len(d.Cohorts)+len(d.Places)+len(d.Overtaken)+len(d.Shares)+len(d.Strips)+len(d.Depths)+len(d.Leaderless)+len(d.Arrivals) == 0
}

// Details appends the line of a cell to details.jsonl, creating the file if needed.
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

// appendTo appends to a file, creating it if needed.
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

// ReadDetails reads details.jsonl from a run's directory, by cell name. A run without the file, such as one of an older zkbench, has no
// details. It drops an unfinished last line, which an interrupted run may leave.
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
