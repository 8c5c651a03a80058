package results

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Named is a document with the name that an index lists it by: that of its directory, with slashes.
type Named struct {
	Name string
	Document
}

// ReadNamed reads the documents that paths name: as ReadDocument does, or, for a directory without a document, those of its subdirectories, whose names begin
// with its own. Two documents of one name are an error.
func ReadNamed(paths ...string) (all []Named, err error) {
	for _, path := range paths {
		found, err := readNamed(path)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if slices.ContainsFunc(all, func(other Named) bool { return other.Name == d.Name }) {
				return nil, fmt.Errorf("read results: %s: another one is named %s, too; rename one of the directories", path, d.Name)
			}
			all = append(all, d)
		}
	}
	return all, nil
}

func readNamed(path string) (all []Named, err error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	name := filepath.Base(whole)
	info, err := os.Stat(path)
	if err == nil && info.IsDir() && documentIn(path) == "" {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, fmt.Errorf("read results: %w", err)
		}
		for _, e := range entries {
			if dir := filepath.Join(path, e.Name()); e.IsDir() && documentIn(dir) != "" {
				d, err := ReadDocument(dir)
				if err != nil {
					return nil, err
				}
				all = append(all, Named{name + "/" + e.Name(), d})
			}
		}
		if len(all) > 0 {
			return all, nil
		}
	}
	d, err := ReadDocument(path)
	if name == RunFile || name == ComparisonFile {
		name = filepath.Base(filepath.Dir(whole))
	}
	return []Named{{strings.TrimSuffix(name, ".json"), d}}, err
}

// Command returns the command line that made the document; nil if the document does not have it.
func (d Document) Command() []string {
	switch {
	case d.Run != nil:
		return d.Run.Command
	case d.Capacity != nil:
		return d.Capacity.Command
	}
	return nil
}

// Profile returns the profile beside a run, in YAML; "" if there is none that can be read.
func (d Document) Profile() string {
	if d.Run == nil {
		return ""
	}
	text, _ := os.ReadFile(filepath.Join(d.Dir, ProfileFile))
	return string(text)
}
