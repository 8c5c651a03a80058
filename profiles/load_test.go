package profiles

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(file, []byte(least), 0o600); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(dir, "long.yaml")
	if err := os.WriteFile(long, make([]byte, maxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, stdin, want, fault string }{
		{name: "quickstart", want: "quickstart"},
		{name: file, want: "mine"},
		{name: "-", stdin: least, want: "stdin"},
		{name: "-", stdin: "sessions: none", fault: `stdin:1:11: sessions: "none" is not a whole number`},
		{name: "quikstart", fault: `no built-in profile and no file named "quikstart"; did you mean quickstart? built-in profiles are `},
		{name: "xyzzy", fault: `named "xyzzy"; built-in profiles are `},
		{name: filepath.Join(dir, "none.yaml"), fault: "read profile: open"},
		{name: dir, fault: "read profile " + dir},
		{name: long, fault: "must be at most 1 MiB"},
	} {
		p, err := catalogue.load(c.name, strings.NewReader(c.stdin))
		switch {
		case c.fault == "" && (err != nil || p.Name != c.want):
			t.Errorf("Load(%s) = %s, %v, want %s", c.name, p.Name, err, c.want)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("Load(%s) = %v, want %s", c.name, err, c.fault)
		}
	}
	_, err := catalogue.Load("xyzzy")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load(xyzzy) = %v, want fs.ErrNotExist", err)
	}
	files, _ := fs.Glob(builtin, "*.yaml")
	for _, file := range files {
		if name := strings.TrimSuffix(file, ".yaml"); !strings.Contains(err.Error(), " "+name) {
			t.Errorf("Load(xyzzy) = %v, without the built-in profile %s", err, name)
		}
	}
	if len(files) == 0 {
		t.Error("there are no built-in profiles")
	}
}
