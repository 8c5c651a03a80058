package results

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zkbench/zkbench/metrics"
)

// ReadHistograms adds up intervals.hlog of a run's directory by tag: see Tag and ReadLog.
func ReadHistograms(dir string) (map[string]*metrics.Histogram, error) {
	return readFile(dir, IntervalsFile, ReadLog)
}

// ReadSeconds reads timeline.jsonl of a run's directory: see ReadTimeline.
func ReadSeconds(dir string) ([]Second, error) { return readFile(dir, TimelineFile, ReadTimeline) }

// readFile reads a file next to the document. dir may be the path of the document itself.
func readFile[T any](dir, name string, read func(io.Reader) (T, error)) (all T, err error) {
	if filepath.Base(dir) == RunFile {
		dir = filepath.Dir(dir)
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return all, fmt.Errorf("read a result: %w", err)
	}
	defer f.Close()
	if all, err = read(f); err != nil {
		err = fmt.Errorf("read a result: %s: %w", f.Name(), err)
	}
	return all, err
}
