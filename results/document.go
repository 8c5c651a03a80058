package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Document is the content of a zkbench directory or file: exactly one of the pointers is set.
type Document struct {
	Dir        string // from which it was read; for a file, the directory of the file
	Run        *Run
	Comparison *Comparison
	Trend      *Trend
	Capacity   *Capacity
}

// ReadDocument reads any zkbench document that the path names: a directory with run.json or comparison.json, or a file, whose schema determines its
// type. An unknown schema is an error that names it.
func ReadDocument(path string) (d Document, err error) {
	file := path
	info, err := os.Stat(path)
	if err != nil {
		return d, fmt.Errorf("read a result: %w", err)
	}
	if info.IsDir() {
		if file = documentIn(path); file == "" {
			return d, fmt.Errorf("read a result: %s has no %s and no %s", path, RunFile, ComparisonFile)
		}
	}
	d.Dir = filepath.Dir(file)
	text, err := os.ReadFile(file)
	if err != nil {
		return d, fmt.Errorf("read a result: %w", err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return d, fmt.Errorf("read a result: %s is not a document of zkbench: %w", file, err)
	}
	switch head.Schema {
	case ComparisonSchema:
		d.Comparison = &Comparison{}
		err = json.Unmarshal(text, d.Comparison)
	case CapacitySchema:
		d.Capacity = &Capacity{}
		err = json.Unmarshal(text, d.Capacity)
	case TrendSchema:
		d.Trend = &Trend{}
		if err = json.Unmarshal(text, d.Trend); err == nil && len(d.Trend.Runs) == 0 {
			err = errors.New("it has no runs")
		}
	default:
		if d.Run, err = parse(text); err != nil {
			return d, fmt.Errorf("read a result: %s %w", file, err)
		}
	}
	if err != nil {
		return d, fmt.Errorf("read a result: %s is damaged: %w", file, err)
	}
	return d, nil
}

// documentIn returns the path of the document in a directory; "" if there is none.
func documentIn(dir string) string {
	for _, name := range []string{RunFile, ComparisonFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(dir, name)
		}
	}
	return ""
}
