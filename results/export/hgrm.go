package export

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// Distributions returns the histograms of a run by name, CELL/OPERATION.CLOCK. Those of repetitions are added up under the name without the
// repetition. Unserved operations are in the histogram of their operation with their lower bounds, as in the percentiles of run.json: without
// them a distribution would only show the survivors.
func Distributions(s Source) (map[string]*metrics.Histogram, error) {
	log, err := results.ReadHistograms(s.Dir)
	if err != nil {
		return nil, err
	}
	repetitions := map[string]string{} // name of a cell to its name without the repetition
	for i, c := range s.Run.Cells {
		name := strings.TrimSuffix(c.Name, fmt.Sprintf("-r%d", c.Repetition))
		if slices.ContainsFunc(s.Run.Cells[:i], c.Same) || slices.ContainsFunc(s.Run.Cells[i+1:], c.Same) {
			repetitions[c.Name] = name
		}
	}
	all := map[string]*metrics.Histogram{}
	for tag, h := range log {
		cell, key, _ := strings.Cut(strings.TrimSuffix(tag, unserved), "/")
		for _, name := range []string{cell, repetitions[cell]} {
			if name == "" {
				continue
			}
			if all[name+"/"+key] == nil {
				all[name+"/"+key] = metrics.NewHistogram()
			}
			all[name+"/"+key].Merge(h)
		}
	}
	maps.DeleteFunc(all, func(_ string, h *metrics.Histogram) bool { return h.Count() == 0 })
	return all, nil
}

// unserved is the suffix of the tags of lower bounds.
const unserved = ".unserved"

// Choose returns the names that match one of the patterns, in which * stands for any text without a slash; all names without a pattern. A pattern that
// matches nothing is an error that lists the names.
func Choose(all map[string]*metrics.Histogram, patterns []string) ([]string, error) {
	names := slices.Sorted(maps.Keys(all))
	if len(names) == 0 {
		return nil, fmt.Errorf("the run has no samples, so it has no distributions")
	}
	if len(patterns) == 0 {
		return names, nil
	}
	var chosen []string
	for _, p := range patterns {
		before := len(chosen)
		for _, name := range names {
			matches, err := path.Match(p, name)
			if err != nil {
				return nil, fmt.Errorf("histogram %q: %w", p, err)
			}
			if matches && !slices.Contains(chosen, name) {
				chosen = append(chosen, name)
			}
		}
		if len(chosen) == before && !slices.Contains(names, p) {
			return nil, fmt.Errorf("no histogram %q (expected one of %s)", p, strings.Join(names, ", "))
		}
	}
	return chosen, nil
}

// WriteFiles writes each distribution into its own file, CELL_OPERATION.CLOCK.hgrm, in a directory that it creates.
func WriteFiles(dir string, all map[string]*metrics.Histogram, names []string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range names {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_")+".hgrm")
		if err := ToFile(file, all[name].WritePercentiles); err != nil {
			return err
		}
	}
	return nil
}

// ToFile writes a file completely or returns an error.
func ToFile(file string, write func(io.Writer) error) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	err = write(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
