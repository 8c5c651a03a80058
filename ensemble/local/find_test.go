package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
)

// tree writes empty files, programs where the name ends in java.
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

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
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
		f := finder{getenv: environment("JAVA_HOME", test.home, "PATH", test.path)}
		got, err := f.java(test.asked)
		if got != test.want || errors.Is(err, ensemble.ErrNoJava) != (test.want == "") {
			t.Errorf("%s: java(%q) = %q, %v, want %q", test.name, test.asked, got, err, test.want)
		}
		if err != nil && !strings.Contains(err.Error(), "JAVA_HOME") && test.asked == "" {
			t.Errorf("%s: the error %v names no remedy", test.name, err)
		}
	}
}

func TestFindZooKeeper(t *testing.T) {
	root := tree(t,
		"new/lib/zookeeper-3.9.3.jar", "new/lib/netty.jar", "new/lib/zookeeper-jute-3.9.3.jar",
		"old/zookeeper-3.4.14.jar", "old/lib/netty.jar",
		"deb/slf4j-simple.jar", "deb/zookeeper-jute-3.8.0.jar", "deb/servlet-api.jar", "deb/zookeeper.jar",
		"none/lib/netty.jar")
	if err := os.Symlink("zookeeper.jar", filepath.Join(root, "deb/zookeeper-3.8.0.jar")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, asked, home, place string
		source, version          string
		jars                     string
	}{
		{"a distribution since 3.5", "", "new", "deb/zookeeper.jar", "ZOOKEEPER_HOME new", "3.9.3",
			"new/lib/zookeeper-3.9.3.jar new/lib/netty.jar new/lib/zookeeper-jute-3.9.3.jar"},
		{"a distribution before 3.5", "old", "new", "", "old", "3.4.14", "old/zookeeper-3.4.14.jar old/lib/netty.jar"},
		{"a package: what its manifest leaves out is added, the version is in the link's name", "", "", "deb/zookeeper.jar",
			"deb/zookeeper.jar", "3.8.0", "deb/zookeeper.jar deb/slf4j-simple.jar deb/servlet-api.jar"},
		{"a ZOOKEEPER_HOME without ZooKeeper is not passed over", "", "none", "deb/zookeeper.jar", "", "", ""},
		{"nowhere", "", "", "none", "", "", ""},
		{"asked for something absent", "absent", "new", "", "", "", ""},
	}
	at := func(name string) string {
		if name == "" {
			return ""
		}
		return filepath.Join(root, name)
	}
	for _, test := range tests {
		f := finder{getenv: environment("ZOOKEEPER_HOME", at(test.home)), places: []string{at("missing"), at(test.place)}}
		p, err := f.zookeeper(at(test.asked))
		if test.source == "" {
			if !errors.Is(err, ensemble.ErrNoZooKeeper) {
				t.Errorf("%s: zookeeper() = %v, %v, want ensemble.ErrNoZooKeeper", test.name, p, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		source := strings.ReplaceAll(p.Source, root+"/", "")
		jars := strings.ReplaceAll(strings.Join(p.ClassPath, " "), root+"/", "")
		if source != test.source || p.Version != test.version || jars != test.jars {
			t.Errorf("%s: zookeeper() = %q %q %q, want %q %q %q", test.name, source, p.Version, jars, test.source, test.version, test.jars)
		}
	}
	_, err := finder{getenv: environment(), places: []string{at("none")}}.zookeeper("")
	if err == nil || !strings.Contains(err.Error(), "apt-get install zookeeper") {
		t.Errorf("zookeeper(nowhere) = %v, want the command that installs it", err)
	}
}

func TestVersions(t *testing.T) {
	manifests := []struct{ text, want string }{
		{"Implementation-Version: 3.9.3\r\nBundle-Version: 1.2.3\r\n", "3.9.3"},
		{"Bundle-Version: 3.4.13\n", "3.4.13"},
		{"Implementation-Build: abc\n", ""},
	}
	for _, test := range manifests {
		if got := versionOf(strings.NewReader(test.text)); got != test.want {
			t.Errorf("versionOf(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}
