package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// ComparisonFile is the document of a comparison, in a directory with the directories of its runs.
const ComparisonFile = "comparison.json"

// WriteComparison writes the document into a directory; one that is there is replaced once the new one is complete.
func WriteComparison(dir string, c *Comparison) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err == nil {
		err = replace(filepath.Join(dir, ComparisonFile), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the comparison to %s: %w", dir, err)
	}
	return nil
}

// ReadComparison reads the document of a comparison: the path of its directory, or of the document itself. Fields that it does not know are
// skipped; a schema of another version is an error.
func ReadComparison(path string) (*Comparison, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, ComparisonFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a comparison: %w", err)
	}
	var c Comparison
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read a comparison: %s is damaged: %w", path, err)
	}
	if c.Schema != ComparisonSchema {
		return nil, fmt.Errorf("read a comparison: %s has the schema %q; this zkbench reads %q", path, c.Schema, ComparisonSchema)
	}
	return &c, nil
}
