package compose

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files are the descriptions, and in monitoring/ the configuration of Prometheus and Grafana.
//
//go:embed *.yml monitoring
var Files embed.FS

// Sizes are the numbers of servers for which there is a file ensemble-N.yml.
var Sizes = []int{1, 3, 5}

// Ensemble is the name of the file for so many servers.
func Ensemble(servers int) string { return fmt.Sprintf("ensemble-%d.yml", servers) }

// Observer is the name of the file for three voters and an observer.
const Observer = "observer.yml"

// Write lays the files into a directory, and makes it if it is not there.
func Write(dir string) error {
	return fs.WalkDir(Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := Files.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
}
