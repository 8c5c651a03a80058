package compare

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// Run is a finished run and the directory of its result.
type Run struct {
	Dir string
	*results.Run
}

// Read reads results, in chronological order. A path is that of a result, or of a directory whose subdirectories are results. It is an error if a result
// is given twice, because it would count twice, or if it is a share of a run of several processes, whose figures cover only part of the sessions.
func Read(paths ...string) ([]Run, error) {
	var all []Run
	for _, path := range paths {
		dirs, err := resultsIn(path)
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			r, err := results.Read(dir)
			if err != nil {
				return nil, err
			}
			if s := r.Share; s != nil {
				return nil, fmt.Errorf("%s: share %d of %d of a run: its figures cover only part of the sessions (compare whole runs)", dir, s.Number, s.Shares)
			}
			for _, other := range all {
				if other.Started.Equal(r.Started) && other.Root == r.Root {
					return nil, fmt.Errorf("%s: the same run as %s (give each run once)", dir, other.Dir)
				}
			}
			all = append(all, Run{dir, r})
		}
	}
	slices.SortStableFunc(all, func(a, b Run) int { return a.Started.Compare(b.Started) })
	return all, nil
}

// resultsIn returns the path itself if it is a result, and otherwise the results in it.
func resultsIn(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read a result: %w", err)
	}
	if _, err := os.Stat(filepath.Join(path, results.RunFile)); err == nil || !info.IsDir() {
		return []string{path}, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read a result: %w", err)
	}
	found, err := filepath.Glob(filepath.Join(path, "*", results.RunFile))
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("read a result: %s has no %s, and no directory in it has one", path, results.RunFile)
	}
	var dirs []string
	for _, file := range found {
		dirs = append(dirs, filepath.Dir(file))
	}
	return dirs, nil
}

// side describes runs.
func side(runs []Run) (s results.Side) {
	if len(runs) == 0 {
		return s
	}
	for _, r := range runs {
		s.Runs = append(s.Runs, r.Dir)
	}
	s.Environment, s.Name = &runs[0].Environment, s.Runs[0]
	if len(runs) > 1 {
		s.Name = fmt.Sprintf("%d runs from %s on", len(runs), s.Name)
	}
	return s
}

// fsyncFactor is how far the median sync times of the sides may differ. Kinds of disks differ by more than 10.
const fsyncFactor = 4

// EnvironmentError lists differences between two sets of runs that affect the numbers.
type EnvironmentError struct{ Fields []results.Differing }

func (e EnvironmentError) Error() string {
	var words []string
	for _, f := range e.Fields {
		words = append(words, fmt.Sprintf("%s: %s and %s", f.Name, f.Baseline, f.Candidate))
	}
	return "the runs are of different environments: " + strings.Join(words, "; ")
}

// differing returns the fields of the fingerprint that are not the same in all runs of both sides. A field that a document lacks counts as equal
// to any value.
func differing(baseline, candidate []Run) (all []results.Differing) {
	values := func(runs []Run, i int) []string {
		var found []string
		for _, r := range runs {
			if v := r.Environment.Fingerprint()[i].Value; v != "" && !slices.Contains(found, v) {
				found = append(found, v)
			}
		}
		return found
	}
	for i, f := range (results.Environment{}).Fingerprint() {
		b, c := values(baseline, i), values(candidate, i)
		if len(slices.Compact(slices.Sorted(slices.Values(slices.Concat(b, c))))) > 1 {
			all = append(all, results.Differing{Name: f.Name, Baseline: orUnknown(b), Candidate: orUnknown(c)})
		}
	}
	b, c := fsync(baseline), fsync(candidate)
	if b > 0 && c > 0 && max(b/c, c/b) > fsyncFactor {
		all = append(all, results.Differing{Name: "fsync_ms", Baseline: fmt.Sprintf("%.2g ms", b), Candidate: fmt.Sprintf("%.2g ms", c)})
	}
	return all
}

// beside returns what else differs between the sides of a comparison in pairs, which runs of other days need not share: where the servers' program came from, whether
// connections are encrypted, the session timeout, and the settings that the servers report. What only one side knows is left out, as in differing.
func beside(baseline, candidate []Run) (all []results.Differing) {
	add := func(name string, of func(results.Environment) string) {
		values := func(runs []Run) (found []string) {
			for _, r := range runs {
				if v := of(r.Environment); v != "" && !slices.Contains(found, v) {
					found = append(found, v)
				}
			}
			slices.Sort(found)
			return found
		}
		if b, c := values(baseline), values(candidate); len(b) > 0 && len(c) > 0 && !slices.Equal(b, c) {
			all = append(all, results.Differing{Name: name, Baseline: strings.Join(b, ", "), Candidate: strings.Join(c, ", ")})
		}
	}
	add("source", func(e results.Environment) string { return e.Source })
	add("encrypted", func(e results.Environment) string { return fmt.Sprint(e.Encrypted) })
	add("session_timeout", func(e results.Environment) string { return fmt.Sprintf("%g ms", e.SessionTimeout) })
	names := map[string]bool{}
	for _, r := range slices.Concat(baseline, candidate) {
		for name := range r.Environment.Options {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		add(name, func(e results.Environment) string { return e.Options[name] })
	}
	return all
}

func orUnknown(values []string) string {
	if len(values) == 0 {
		return "unknown"
	}
	return strings.Join(values, ", ")
}

// fsync returns the median sync time in ms; 0 if no run has one.
func fsync(runs []Run) float64 {
	var all []float64
	for _, r := range runs {
		if ms := r.Environment.FsyncMs; ms != nil {
			all = append(all, *ms)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}
