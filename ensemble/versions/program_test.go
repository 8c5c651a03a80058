package versions

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
)

// jar writes a jar whose manifest has these lines.
func jar(t *testing.T, path string, lines ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	archive := zip.NewWriter(file)
	manifest, err := archive.Create("META-INF/MANIFEST.MF")
	if err == nil {
		_, err = manifest.Write([]byte("Manifest-Version: 1.0\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\nName: other\r\nClass-Path: no.jar\r\n"))
	}
	if err := errors.Join(err, archive.Close()); err != nil {
		t.Fatal(err)
	}
}

// Java searches what a manifest names right after the jar itself: so each jar comes after those that it names, and all are of one root.
func TestTheClassPathOfAPackageIsOfOneRoot(t *testing.T) {
	system, root := filepath.Join(t.TempDir(), "system"), filepath.Join(t.TempDir(), javaDir)
	in := func(name string) string { return filepath.Join(root, name) }
	named := func(name string) string { return filepath.Join(system, name) }
	for _, name := range []string{"zookeeper-jute.jar", "jetty.jar", "http.jar", "jline.jar"} {
		jar(t, named(name))
	}
	jar(t, in("zookeeper.jar"), "Class-Path: "+named("jetty.jar")+" "+named("zook"), " eeper-jute.jar "+named("jline.jar")+" "+named("nowhere.jar"))
	jar(t, in("zookeeper-jute.jar"))
	jar(t, in("jetty.jar"), "Class-Path: http.jar "+named("zookeeper-jute.jar"))
	jar(t, in("http.jar"), "Class-Path: "+named("jetty.jar"))
	jar(t, in("slf4j-simple.jar"), "Class-Path: slf4j-api.jar")
	jar(t, in("slf4j-api.jar"))
	for _, place := range []string{strings.TrimSuffix(root, "/"+javaDir), root, in("zookeeper.jar")} {
		p, err := finder{getenv: environment()}.find(place)
		got := strings.ReplaceAll(strings.Join(p.ClassPath, " "), root+"/", "")
		if want := "http.jar zookeeper-jute.jar jetty.jar zookeeper.jar slf4j-api.jar slf4j-simple.jar"; err != nil || got != want {
			t.Errorf("class path of %s: %q, %v, want %q", place, got, err, want)
		}
		if got := strings.Join(p.Foreign, " "); got != named("jline.jar") {
			t.Errorf("foreign jars of %s: %q, want %q", place, got, named("jline.jar"))
		}
	}

	p, _ := at(root)
	if said := p.Mixed("java.lang.NoSuchMethodError: 'void A.b()'\n"); !strings.Contains(said, "A.b()") || !strings.Contains(said, in("zookeeper-jute.jar")) || !strings.Contains(said, named("jline.jar")) {
		t.Errorf("Mixed() = %q, does not name the method and the jars", said)
	}
	if said := p.Mixed("java.net.BindException: Address already in use"); said != "" {
		t.Errorf("Mixed(another error) = %q, want nothing", said)
	}

	if err := os.Remove(in("zookeeper-jute.jar")); err != nil {
		t.Fatal(err)
	}
	_, err := finder{getenv: environment()}.find(root)
	if !errors.Is(err, ensemble.ErrNoZooKeeper) || !strings.Contains(err.Error(), named("zookeeper-jute.jar")) {
		t.Errorf("find(without its jute) = %v, does not name the system's, which Java would load", err)
	}
}

func TestJarsOfTwoVersionsAreRefused(t *testing.T) {
	home := tree(t, "lib/zookeeper-3.9.3.jar", "lib/zookeeper-jute-3.8.0.jar")
	if _, err := (finder{getenv: environment()}).find(home); !errors.Is(err, ensemble.ErrNoZooKeeper) || !strings.Contains(err.Error(), "3.8.0") {
		t.Errorf("find(jars of 3.9.3 and 3.8.0) = %v, want an error that names both", err)
	}
}

func TestVersions(t *testing.T) {
	for _, test := range []struct{ manifest, want string }{
		{"Implementation-Version: 3.9.3\r\nBundle-Version: 1.2.3", "3.9.3"},
		{"Bundle-Version: 3.4.13", "3.4.13"},
		{"Implementation-Version: 3.4.13-6--1", "3.4.13"},
		{"Implementation-Build: abc", "3.7.1"},
	} {
		path := filepath.Join(t.TempDir(), "zookeeper-3.7.1.jar")
		jar(t, path, test.manifest)
		if got := jarVersion(path); got != test.want {
			t.Errorf("jarVersion(%q) = %q, want %q", test.manifest, got, test.want)
		}
	}
	for text, want := range map[string]bool{"3.9.3": true, "3.5.4-beta": true, "3.9": false, "/opt/3.9.3": false, "3.9.3.jar": false, "": false} {
		if IsVersion(text) != want {
			t.Errorf("IsVersion(%q) = %v", text, !want)
		}
	}
}
