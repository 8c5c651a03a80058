package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
)

// tree writes empty files, which are programs if the name ends in java.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range names {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFindJava(t *testing.T) {
	root := tree(t, "home/bin/java", "path/java", "empty/readme")
	at := func(name string) string { return filepath.Join(root, name) }
	path := at("empty") + string(os.PathListSeparator) + at("path")
	tests := []struct {
		name, asked, home, path, want string
	}{
		{"the one asked for", at("path/java"), at("home"), "", at("path/java")},
		{"JAVA_HOME before PATH", "", at("home"), path, at("home/bin/java")},
		{"PATH", "", "", path, at("path/java")},
		{"a JAVA_HOME without java is not passed over", "", at("empty"), path, ""},
		{"nowhere", "", "", at("empty"), ""},
		{"PATH is empty", "", "", "", ""},
		{"what was asked for is a directory", at("home"), "", path, ""},
	}
	for _, test := range tests {
		got, err := findJava(test.asked, "linux", func(name string) string { return map[string]string{"JAVA_HOME": test.home, "PATH": test.path}[name] })
		if got != test.want || errors.Is(err, ensemble.ErrNoJava) != (test.want == "") {
			t.Errorf("%s: java(%q) = %q, %v, want %q", test.name, test.asked, got, err, test.want)
		}
		if err != nil && !strings.Contains(err.Error(), "JAVA_HOME") && test.asked == "" {
			t.Errorf("%s: the error %v names no remedy", test.name, err)
		}
	}
	if _, err := findJava("", "windows", func(string) string { return path }); err == nil || !strings.Contains(err.Error(), "--servers") {
		t.Errorf("on Windows: %v", err)
	}
}
