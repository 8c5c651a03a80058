package results

import (
	"encoding/json"
	"fmt"
	"path/filepath"
)

// ComparisonFile is the document of a comparison, in a directory with the directories of its runs.
const ComparisonFile = "comparison.json"

// WriteComparison writes the document into a directory. It replaces an existing one once the new one is complete.
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
