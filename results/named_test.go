package results

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReadNamed(t *testing.T) {
	root := t.TempDir()
	text := `{"schema": "` + Schema + `", "profile": "a", "command": ["zkbench", "run", "a"]}`
	for name, text := range map[string]string{"one/run.json": text, "one/profile.yaml": "name: a\n", "several/a/run.json": text, "several/b/run.json": text,
		"several/c/notes.txt": "", "empty/notes.txt": "", "other/one/run.json": text, "loose.json": text} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		paths []string
		want  []string
		err   string
	}{
		{[]string{"one", "several"}, []string{"one", "several/a", "several/b"}, ""},
		{[]string{"one/", "loose.json"}, []string{"one", "loose"}, ""},
		{[]string{"one/run.json"}, []string{"one"}, ""},
		{[]string{"one", "other/one"}, nil, "rename one of the directories"},
		{[]string{"empty"}, nil, "has no run.json"},
		{[]string{"missing"}, nil, "missing"},
	} {
		var paths, names []string
		for _, p := range c.paths {
			paths = append(paths, filepath.Join(root, p))
		}
		all, err := ReadNamed(paths...)
		for _, d := range all {
			names = append(names, d.Name)
			if d.Run == nil || !slices.Equal(d.Command(), []string{"zkbench", "run", "a"}) || (d.Profile() != "") != (d.Name == "one") {
				t.Errorf("%q: %s has the command %q and the profile %q", c.paths, d.Name, d.Command(), d.Profile())
			}
		}
		if !slices.Equal(names, c.want) || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("ReadNamed(%q) = %q, %v, want %q, %q", c.paths, names, err, c.want, c.err)
		}
	}
}
