package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// The files of a run's directory.
const (
	RunFile       = "run.json"
	IntervalsFile = "intervals.hlog"
	TimelineFile  = "timeline.jsonl"
	ProfileFile   = "profile.yaml"
)

// ErrExists is returned if the directory already holds a result, which is never overwritten.
var ErrExists = errors.New("a result exists already")

// Dir is the directory of a run in progress. Its methods may be called concurrently. Once an interval or a second could
// not be written, the file has a hole: every later call returns that first error.
type Dir struct {
	path   string
	made   []string // directories that did not exist before, innermost first
	files  []string // created by Create
	mu     sync.Mutex
	hlog   *os.File
	log    *logWriter
	series *os.File
	closed bool
	err    error // the first error of intervals.hlog or timeline.jsonl
}

// Create creates the directory of a run and writes the resolved profile into it. If the directory already holds a result or cannot be written, it fails
// with the remedy, before anything has been measured. If two processes choose the same directory concurrently, one of them fails: the process
// that creates intervals.hlog owns the directory, and no other process writes or deletes anything in it.
func Create(path string, profile []byte) (*Dir, error) {
	d := &Dir{path: path}
	if err := d.claim(); err != nil {
		return nil, err
	}
	if err := d.open(profile); err != nil {
		return nil, errors.Join(d.explain(err), d.Discard())
	}
	return d, nil
}

// claim creates the directory, and the file that claims it.
func (d *Dir) claim() (err error) {
	for range claimTries {
		d.made = append(missing(d.path), d.made...)
		if err = os.MkdirAll(d.path, 0o755); errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
			continue // another run that gave up its claim removed a parent directory, or this one right after it was created
		} else if err != nil {
			return d.explain(err)
		}
		for _, name := range []string{RunFile, IntervalsFile, TimelineFile, DetailsFile, PartFile, ProfileFile} {
			if _, err := os.Lstat(filepath.Join(d.path, name)); err == nil {
				return d.exists(name)
			}
		}
		d.hlog, err = exclusive(filepath.Join(d.path, IntervalsFile))
		switch {
		case err == nil:
			d.files = append(d.files, IntervalsFile)
			return nil
		case errors.Is(err, fs.ErrExist):
			return d.exists(IntervalsFile)
		case !errors.Is(err, fs.ErrNotExist): // another run gave up its claim and removed the directory that it had created
			return d.explain(err)
		}
	}
	return d.explain(err)
}

// claimTries limits how often the directory is created again.
const claimTries = 100

func (d *Dir) exists(name string) error {
	return fmt.Errorf("%w: %s; choose another directory with --out", ErrExists, filepath.Join(d.path, name))
}

// missing returns the directories of a path that do not exist, innermost first.
func missing(path string) (all []string) {
	for path = filepath.Clean(path); ; path = filepath.Dir(path) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return all
		}
		all = append(all, path)
	}
}

func (d *Dir) open(profile []byte) (err error) {
	if d.series, err = exclusive(filepath.Join(d.path, TimelineFile)); err != nil {
		return err
	}
	d.files = append(d.files, TimelineFile)
	f, err := exclusive(filepath.Join(d.path, ProfileFile))
	if err != nil {
		return err
	}
	d.files = append(d.files, ProfileFile)
	_, err = f.Write(profile)
	d.log = &logWriter{w: bufio.NewWriter(d.hlog)}
	return errors.Join(err, f.Close())
}

// exclusive creates a file that must not exist.
func exclusive(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// CreateEmpty creates a directory for a document about several runs, each of which has its own directory below it. If the directory is not empty or
// cannot be created, it fails with the remedy. discard removes what was created here and is still empty.
func CreateEmpty(path string) (discard func(), err error) {
	d := &Dir{path: path, made: missing(path)}
	discard = func() { _ = d.Discard() }
	if err := os.MkdirAll(path, 0o755); err != nil {
		discard()
		return nil, d.explain(err)
	}
	entries, err := os.ReadDir(path)
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s is not an empty directory; choose another one with --out", path)
	}
	return discard, d.explain(err)
}

// Path returns the path of the directory.
func (d *Dir) Path() string { return d.path }

// Write writes run.json. A run in progress writes it repeatedly, so that a partial result remains however the run ends. The old
// document exists until the new one is complete.
func (d *Dir) Write(r *Run) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keep(d.flush()) // the document refers to data in these files
	return errors.Join(d.err, d.explain(replace(filepath.Join(d.path, RunFile), append(text, '\n'))))
}

// Interval appends the histograms of one interval of a cell to intervals.hlog, each under the tag CELL/OPERATION.CLOCK.
func (d *Dir) Interval(cell string, from, to time.Time, s *metrics.Set) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, h := range s.All() {
		if d.usable() {
			d.keep(d.log.write(Tag(cell, key), from, to, h))
		}
	}
	return d.err
}

// usable reports whether the growing files may still be appended to.
func (d *Dir) usable() bool {
	if d.closed {
		d.keep(fs.ErrClosed)
	}
	return d.err == nil
}

func (d *Dir) keep(err error) {
	if d.err == nil {
		d.err = d.explain(err)
	}
}

// Second is one line of timeline.jsonl: what the clients saw during an interval, what the servers reported for one, or an event at an instant (a fault,
// a recovery, a new leader). Intervals last about a second; those at the marks of the steady phase end there, and a line belongs to the phase in which its
// interval starts. The figure 'seconds' is the length of the interval, which ends at At: rates are counts over it.
type Second struct {
	Cell    string             `json:"cell"`
	At      time.Time          `json:"at"`
	Phase   string             `json:"phase"`
	Client  Figures            `json:"client,omitempty"`
	Servers map[string]Figures `json:"servers,omitempty"` // by address; null for a server that did not answer
	Fault   *FaultEvent        `json:"fault,omitempty"`   // set in a line about a fault, which has no figures
	Leader  *LeaderEvent       `json:"leader,omitempty"`  // set in a line about a new leader, which has no figures
}

// Timeline appends one line to timeline.jsonl. The caller may ignore its error, because the next Write or Close returns it too.
func (d *Dir) Timeline(s Second) error {
	line, err := json.Marshal(s)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && d.usable() {
		_, err = d.series.Write(append(line, '\n'))
	}
	d.keep(err)
	return d.err
}

// Close closes the files. It may be called more than once; it returns the first error of the intervals or the timeline.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return d.err
	}
	if d.log != nil {
		d.keep(d.flush())
	}
	d.closed = true
	for _, f := range []*os.File{d.hlog, d.series} {
		if f != nil {
			d.keep(f.Close())
		}
	}
	return d.err
}

func (d *Dir) flush() error {
	if d.closed {
		return nil
	}
	return d.log.w.Flush()
}

// Discard removes what Create created, for a run that measured nothing: the files, and the directories that did not exist before.
func (d *Dir) Discard() error {
	_ = d.Close() // discarded files need not be complete
	var err error
	for _, name := range slices.Backward(d.files) { // the claim last
		if e := os.Remove(filepath.Join(d.path, name)); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	for _, dir := range d.made {
		if os.Remove(dir) != nil { // not empty: somebody else uses it now
			break
		}
	}
	return err
}

// explain adds the remedy to a file system error.
func (d *Dir) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("write the result to %s: %w: free some space, or choose another directory with --out", d.path, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("write the result to %s: %w: choose another directory with --out", d.path, err)
	}
	return fmt.Errorf("write the result to %s: %w", d.path, err)
}

// replace writes a file under another name first, so that it is either complete or absent.
func replace(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}

// Read reads the document of a run; path is its directory, or run.json itself. Unknown fields are skipped, because fields are only ever added;
// a schema of another version is an error.
func Read(path string) (*Run, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, RunFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a result: %w", err)
	}
	r, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("read a result: %s %w", path, err)
	}
	return r, nil
}

// parse checks the schema first, because another version may give a field another meaning.
func parse(text []byte) (*Run, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("is not a result of zkbench: %w", err)
	}
	switch head.Schema {
	case Schema:
	case "":
		return nil, errors.New("has no schema: it is not a result of zkbench")
	default:
		return nil, fmt.Errorf("has the schema %q; this zkbench reads %q", head.Schema, Schema)
	}
	var r Run
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("is damaged: %w", err)
	}
	return &r, nil
}

// ReadTimeline reads timeline.jsonl. It drops an unfinished last line, which an interrupted run may leave.
func ReadTimeline(r io.Reader) ([]Second, error) {
	var all []Second
	dec := json.NewDecoder(r)
	for {
		var s Second
		err := dec.Decode(&s)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return all, nil
		}
		if err != nil {
			return all, fmt.Errorf("timeline, line %d: %w", len(all)+1, err)
		}
		all = append(all, s)
	}
}
