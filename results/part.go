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
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/metrics"
)

// The files of a share that exist only for merging: one line per cell, and the history of each cell.
const (
	PartFile      = "part.jsonl"
	historyPrefix = "history-"
	historySuffix = ".gz"
)

// Part is what merging needs for a cell and what run.json and intervals.hlog of a share lack. All counts cover the steady phase, unless
// stated otherwise; times are in nanoseconds since the start of the cell, by the clock of the share.
type Part struct {
	Cell     string                      `json:"cell"`     // its Name
	Outcomes map[string]map[string]int64 `json:"outcomes"` // operations by outcome
	Fanout   metrics.FanoutCounts        `json:"fanout"`
	Expired  int64                       `json:"expired,omitempty"` // sessions, in the whole cell
	Redials  int64                       `json:"redials,omitempty"` // failed attempts to open a new session
	Pauses   int64                       `json:"pauses_ns,omitempty"`
	CPU      int64                       `json:"cpu_ns"` // of the generator; negative if the system does not report it
	From     int64                       `json:"from_ns"`
	To       int64                       `json:"to_ns"`
	Opening  PartTimes                   `json:"opening,omitempty"` // how long the sessions took to open
	Faults   json.RawMessage             `json:"faults,omitempty"`  // what the share knows about the faults of the cell, as package bench/faults writes it
	Back     [][]time.Duration           `json:"back_ns,omitempty"` // per injected fault, when the clients that it disconnected were connected again, relative to the fault
	// Connecting holds the phases of making connections over all cells of the run. It is then the only field, without a Cell.
	Connecting []PartPhase `json:"connecting,omitempty"`
	Meets      []PartMeet  `json:"meets"`            // where the shares waited for each other, in chronological order
	Samples    int         `json:"samples"`          // in the history file
	Left       int         `json:"left,omitempty"`   // samples that did not fit into the file
	CutAt      int64       `json:"cut_ns,omitempty"` // the End of the first of these
}

// PartMeet is when a share arrived at a point where all shares wait for each other, and when it continued.
type PartMeet struct {
	Stage string `json:"stage"`
	Came  int64  `json:"came_ns"`
	Went  int64  `json:"went_ns"`
}

// PartPhase is one phase of making connections.
type PartPhase struct {
	Phase   string    `json:"phase"`
	Resumed int       `json:"resumed,omitempty"`
	Times   PartTimes `json:"times"`
}

// PartTimes is a histogram encoded as in intervals.hlog; "" if it is empty.
type PartTimes string

// PartTimesOf encodes a histogram, which may be nil.
func PartTimesOf(h *metrics.Histogram) PartTimes {
	if h == nil || h.Count() == 0 {
		return ""
	}
	text, err := h.Encode()
	if err != nil {
		return "" // impossible for a buffer in memory
	}
	return PartTimes(text)
}

// AddTo adds the times to a histogram.
func (t PartTimes) AddTo(h *metrics.Histogram) error {
	if t == "" {
		return nil
	}
	more, err := metrics.DecodeHistogram([]byte(t))
	if err != nil {
		return fmt.Errorf("%s: %w (copy it from the share's host again)", PartFile, err)
	}
	h.Merge(more)
	return nil
}

// Phases writes the line of the connections.
func (d *Dir) Phases(all []PartPhase) error {
	line, err := json.Marshal(Part{Connecting: all})
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && d.usable() {
		err = d.appendTo(PartFile, append(line, '\n'))
	}
	d.keep(err)
	return d.err
}

// MostHistory is the maximum size, in bytes, of the history of a share's cell: about twenty million samples.
const MostHistory = 256 << 20

// afterwards are the operations that are not part of the load: they are kept however long the history is.
var afterwards = []metrics.Op{metrics.Left, metrics.Drain, metrics.Remain, metrics.Tally, metrics.Fault, metrics.Expire, metrics.Late, metrics.Down, metrics.Bound, metrics.Refused}

// Part writes what merging needs for a cell: the history, up to most bytes, and the line of part.jsonl, in which it records how much of the history was kept.
func (d *Dir) Part(p Part, history func(yield func(metrics.Sample) bool), most int64) error {
	name := historyPrefix + p.Cell + historySuffix
	f, err := exclusive(filepath.Join(d.path, name))
	if err != nil {
		return d.explain(err)
	}
	d.mu.Lock()
	d.files = append(d.files, name)
	d.mu.Unlock()
	p.Samples, err = metrics.WriteSamples(f, history, func(s *metrics.Sample, written int64) bool {
		if written < most && p.Left == 0 || slices.Contains(afterwards, s.Op) {
			return true
		}
		if p.Left++; p.Left == 1 {
			p.CutAt = int64(s.End)
		}
		return false
	})
	if err = errors.Join(err, f.Close()); err != nil {
		return d.explain(err)
	}
	line, err := json.Marshal(p)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && d.usable() {
		err = d.appendTo(PartFile, append(line, '\n'))
	}
	d.keep(err)
	return d.err
}

// Counts copies the outcomes and successes of a set.
func (p *Part) Counts(s *metrics.Set) {
	p.Outcomes = map[string]map[string]int64{}
	add := func(op metrics.Op, name string, n int64) {
		if n != 0 {
			if p.Outcomes[op.String()] == nil {
				p.Outcomes[op.String()] = map[string]int64{}
			}
			p.Outcomes[op.String()][name] = n
		}
	}
	for op := range metrics.Op(metrics.Ops) {
		for o := range metrics.Outcome(metrics.Outcomes) {
			add(op, o.String(), s.Count(op, o))
		}
		add(op, doneName, s.Done(op))
	}
}

// doneName stands for the successes that ended in the steady phase, whenever they were due.
const doneName = "done"

// Set returns the set that Counts copied.
func (p *Part) Set() *metrics.Set {
	s := &metrics.Set{}
	for op := range metrics.Op(metrics.Ops) {
		counts := p.Outcomes[op.String()]
		for o := range metrics.Outcome(metrics.Outcomes) {
			s.AddCounts(op, o, counts[o.String()])
		}
		s.AddDone(op, counts[doneName])
	}
	return s
}

// ShareResult is the content of a share's directory.
type ShareResult struct {
	Dir     string
	Run     *Run
	Profile string          // the text of profile.yaml
	Parts   map[string]Part // by cell name
}

// Part returns a cell and its Part; there is false if the share did not finish the cell.
func (s *ShareResult) Part(cell string) (c Cell, p Part, there bool) {
	p, there = s.Parts[cell]
	i := slices.IndexFunc(s.Run.Cells, func(c Cell) bool { return c.Name == cell })
	if !there || i < 0 {
		return c, p, false
	}
	return s.Run.Cells[i], p, true
}

// History calls do for the samples of a cell.
func (s *ShareResult) History(cell string, do func(metrics.Sample)) error {
	path := filepath.Join(s.Dir, historyPrefix+cell+historySuffix)
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: copy the whole directory of the share", err)
	}
	defer f.Close()
	of, _, _ := s.Part(cell)
	var stray error
	err = metrics.ReadSamples(f, func(m metrics.Sample) {
		if m.Session != metrics.Everybody && !slices.Contains(afterwards, m.Op) && !s.Run.Share.Has(of, m.Session) && stray == nil {
			stray = fmt.Errorf("%s: a sample of session %d belongs to another share: give each share its own directory", path, m.Session)
		}
		do(m)
	})
	if err != nil {
		return fmt.Errorf("%s: %w: copy it from the share's host again", path, err)
	}
	return stray
}

// ReadShare reads the directory of a share. Its error names the file and the remedy.
func ReadShare(dir string) (*ShareResult, error) {
	run, err := Read(dir)
	if err != nil {
		return nil, err
	}
	s := &ShareResult{Dir: dir, Run: run, Parts: map[string]Part{}}
	if run.Share == nil {
		return nil, fmt.Errorf("%s: the run has no shares (expected the directory of '%s run --share')", filepath.Join(dir, RunFile), program.Name())
	}
	text, err := os.ReadFile(filepath.Join(dir, ProfileFile))
	if err != nil {
		return nil, fmt.Errorf("read a share: %w: copy the whole directory of the share", err)
	}
	s.Profile = string(text)
	_, err = readFile(dir, PartFile, func(r io.Reader) (none struct{}, err error) {
		for dec := json.NewDecoder(r); ; {
			var p Part
			err := dec.Decode(&p)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the share was killed
				return none, nil
			}
			if err != nil {
				return none, fmt.Errorf("line %d: %w", len(s.Parts)+1, err)
			}
			s.Parts[p.Cell] = p
		}
	})
	if errors.Is(err, fs.ErrNotExist) && len(run.Cells) > 0 {
		return nil, fmt.Errorf("%s is missing: copy the whole directory of the share, written by a zkbench that supports merging", filepath.Join(dir, PartFile))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return s, nil
}

// ReadShares reads the directories of the shares of one run, lowest number first. Its error names the file that is wrong and the remedy: shares of different
// runs, versions, profiles, seeds or servers, a duplicate share, or, unless allowMissing is set, a missing one.
// missing returns the numbers of missing shares.
func ReadShares(dirs []string, allowMissing bool) (shares []*ShareResult, missing []int, err error) {
	for _, dir := range dirs {
		s, err := ReadShare(dir)
		if err != nil {
			return nil, nil, err
		}
		shares = append(shares, s)
	}
	first := shares[0]
	for _, s := range shares[1:] {
		if err := s.differs(first); err != nil {
			return nil, nil, err
		}
	}
	slices.SortStableFunc(shares, func(a, b *ShareResult) int { return a.Run.Share.Number - b.Run.Share.Number })
	for i, s := range shares[1:] {
		if before := shares[i]; s.Run.Share.Number == before.Run.Share.Number {
			return nil, nil, fmt.Errorf("%s and %s are both share %d: give each share once", before.Dir, s.Dir, s.Run.Share.Number)
		}
	}
	for n := range first.Run.Share.Shares {
		if !slices.ContainsFunc(shares, func(s *ShareResult) bool { return s.Run.Share.Number == n+1 }) {
			missing = append(missing, n+1)
		}
	}
	if len(missing) > 0 && !allowMissing {
		return nil, nil, fmt.Errorf("%s of %d missing: give the directories of all shares, or --partial for a partial result", numbered(missing), first.Run.Share.Shares)
	}
	return shares, missing, nil
}

// numbered lists shares as part of a sentence.
func numbered(shares []int) string {
	var words []string
	for _, n := range shares {
		words = append(words, fmt.Sprint(n))
	}
	if len(words) == 1 {
		return "share " + words[0]
	}
	return "shares " + strings.Join(words, ", ")
}

// differs says why two shares do not belong to the same run.
func (s *ShareResult) differs(from *ShareResult) error {
	file := func(s *ShareResult, name string) string { return filepath.Join(s.Dir, name) }
	a, b := s.Run, from.Run
	for _, d := range []struct {
		what        string
		this, other any
	}{
		{"zkbench", a.Environment.Zkbench, b.Environment.Zkbench}, {"profile", a.Profile, b.Profile}, {"seed", a.Seed, b.Seed}, {"number of shares", a.Share.Shares, b.Share.Shares},
		{"root", a.Root, b.Root}, {"meeting", a.Share.Meeting, b.Share.Meeting},
	} {
		if d.this != d.other {
			return fmt.Errorf("%s and %s are of different runs: %s is %v, not %v (give the directories of one run)", file(s, RunFile), file(from, RunFile), d.what, d.this, d.other)
		}
	}
	if s.Profile != from.Profile {
		return fmt.Errorf("%s differs from %s (give the unchanged directories of one run)", file(s, ProfileFile), file(from, ProfileFile))
	}
	return nil
}

// Length returns the length of the steady phase.
func (p Part) Length() time.Duration { return time.Duration(p.To - p.From) }
