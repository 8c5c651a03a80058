package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

func sample() *release {
	r := &release{tag: "v1.2.3", version: "1.2.3", debian: "1.2.3", at: time.Unix(1795614545, 0).UTC(), goes: "go1.26.0",
		modules: map[string]*debug.Module{"example.com/Shell": {Path: "example.com/Shell", Version: "v2.0.0+incompatible", Sum: "h1:abc="}}}
	for _, name := range []string{"LICENSE", "NOTICES", "CHANGELOG.md", "zkbench.1", "completions/zkbench.bash", "completions/_zkbench", "completions/zkbench.fish"} {
		r.shared = append(r.shared, file{name, 0o644, []byte("this is " + name + "\n")})
	}
	return r
}

func TestVersionsOfReleases(t *testing.T) {
	for _, c := range []struct{ printed, tag, debian string }{
		{"zkbench v1.2.3", "v1.2.3", "1.2.3"},
		{"zkbench v1.2.3-rc.1", "v1.2.3-rc.1", "1.2.3~rc.1"},
		{"zkbench devel-0178877ab123", "devel-0178877ab123", "0~20261125142905.0178877ab123"},
		{"zkbench devel-0178877ab123+changes", "", ""}, // the clone was changed
		{"zkbench devel", "", ""},                      // Go has not read the repository
		{"zkbench v1.2", "", ""},
	} {
		tag, debian, err := versions(c.printed, time.Date(2026, 11, 25, 14, 29, 5, 0, time.UTC))
		if tag != c.tag || debian != c.debian || (err != nil) != (c.tag == "") {
			t.Errorf("versions(%q) = %q, %q, %v, want %q, %q", c.printed, tag, debian, err, c.tag, c.debian)
		}
	}
}

// The package is what dpkg-deb reads, depends on nothing, and has the same bytes each time.
func TestTheDebianPackage(t *testing.T) {
	deb := sample().deb("amd64", []byte("a binary"))
	if !bytes.Equal(deb, sample().deb("amd64", []byte("a binary"))) {
		t.Error("two packages of the same differ")
	}
	if bytes.Equal(deb, sample().deb("amd64", []byte("another binary"))) {
		t.Error("packages of two binaries are the same")
	}
	path := filepath.Join(t.TempDir(), "zkbench.deb")
	if err := os.WriteFile(path, deb, 0o644); err != nil {
		t.Fatal(err)
	}
	control, err := exec.Command("dpkg-deb", "--field", path).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("dpkg-deb is not there")
	}
	if text := string(control); err != nil || !strings.Contains(text, "Version: 1.2.3\nArchitecture: amd64\n") || strings.Contains(text, "Depends") {
		t.Errorf("%v: %s", err, control)
	}
	root := t.TempDir()
	if text, err := exec.Command("dpkg-deb", "--extract", path, root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for name, want := range map[string]string{"usr/bin/zkbench": "a binary", "usr/share/bash-completion/completions/zkbench": "this is completions/zkbench.bash\n",
		"usr/share/doc/zkbench/copyright": "this is LICENSE\n\nthis is NOTICES\n"} {
		if text, err := os.ReadFile(filepath.Join(root, name)); string(text) != want {
			t.Errorf("%s is %q, %v, want %q", name, text, err, want)
		}
	}
	if info, err := os.Stat(filepath.Join(root, "usr/bin/zkbench")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the binary: %v, %v", info, err)
	}
}

// What an image's manifest and configuration name is in it.
func TestTheImage(t *testing.T) {
	compressed, err := gzip.NewReader(bytes.NewReader(sample().image("arm64", []byte("a binary"))))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for archive := tar.NewReader(compressed); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if files[head.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	var config struct {
		Architecture string
		Config       struct{ Entrypoint []string }
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil || len(manifest) != 1 || len(manifest[0].Layers) != 1 {
		t.Fatalf("%v: %s", err, files["manifest.json"])
	}
	if err := json.Unmarshal(files[manifest[0].Config], &config); err != nil || config.Architecture != "arm64" || config.Config.Entrypoint[0] != "/zkbench" {
		t.Errorf("%v: %s", err, files[manifest[0].Config])
	}
	layer := tar.NewReader(bytes.NewReader(files[manifest[0].Layers[0]]))
	if head, err := layer.Next(); err != nil || head.Name != "zkbench" || head.Mode != 0o755 {
		t.Errorf("%v, %v", head, err)
	}
	if manifest[0].RepoTags[0] != "zkbench/zkbench:1.2.3" {
		t.Errorf("tags %q", manifest[0].RepoTags)
	}
}

func TestTheListOfModules(t *testing.T) {
	var bom struct {
		Metadata     struct{ Component component }
		Components   []component
		Dependencies []dependency
	}
	if err := json.Unmarshal(sample().sbom(), &bom); err != nil {
		t.Fatal(err)
	}
	if bom.Metadata.Component.Purl != "pkg:golang/github.com/zkbench/zkbench@v1.2.3" || len(bom.Components) != 2 ||
		bom.Components[0].Purl != "pkg:golang/std@1.26.0" || bom.Components[1].Purl != "pkg:golang/example.com/shell@v2.0.0%2Bincompatible" ||
		bom.Components[1].Properties[0].Value != "h1:abc=" || len(bom.Dependencies[0].DependsOn) != 2 {
		t.Errorf("%+v", bom)
	}
}
