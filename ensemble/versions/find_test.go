package versions

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
)

// tree writes empty files.
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
		p, err := f.find(at(test.asked))
		if test.source == "" {
			if !errors.Is(err, ensemble.ErrNoZooKeeper) {
				t.Errorf("%s: find() = %v, %v, want ensemble.ErrNoZooKeeper", test.name, p, err)
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
			t.Errorf("%s: find() = %q %q %q, want %q %q %q", test.name, source, p.Version, jars, test.source, test.version, test.jars)
		}
	}
	_, err := finder{getenv: environment(), places: []string{at("none")}}.find("")
	if err == nil || !strings.Contains(err.Error(), "apt-get install zookeeper") {
		t.Errorf("find(nowhere) = %v, want the command that installs it", err)
	}
}

func TestFindByVersion(t *testing.T) {
	root := tree(t, "home/lib/zookeeper-3.7.2.jar", "a/lib/zookeeper-3.9.3.jar", "many/one/lib/zookeeper-3.6.4.jar", "many/two/lib/zookeeper-3.9.3.jar", "many/.fetch-1/lib/zookeeper-3.5.9.jar",
		"many/readme", "usual/zookeeper.jar", "cache/3.4.13/usr/share/java/zookeeper.jar", "cache/3.8.0/usr/share/java/zookeeper.jar", "none/readme")
	for jar, link := range map[string]string{"usual": "3.8.0", "cache/3.4.13/usr/share/java": "3.4.13", "cache/3.8.0/usr/share/java": "3.8.0"} {
		if err := os.Symlink("zookeeper.jar", filepath.Join(root, jar, "zookeeper-"+link+".jar")); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(root, name) }
	list := at("a") + string(os.PathListSeparator) + at("many")
	for _, test := range []struct{ name, asked, home, list, want, says string }{
		{name: "ZOOKEEPER_HOME", asked: "3.7.2", home: at("home"), list: list, want: "home"},
		{name: "the list, in its order", asked: "3.9.3", home: at("home"), list: list, want: "a"},
		{name: "in a directory of the list", asked: "3.6.4", list: list, want: "many/one"},
		{name: "the usual places before the cache", asked: "3.8.0", want: "usual/zookeeper.jar"},
		{name: "the cache", asked: "3.4.13", want: "cache/3.4.13/usr/share/java/zookeeper.jar"},
		{name: "an unfinished fetch is none", asked: "3.5.9", list: list, says: "3.9.3 at " + at("a")},
		{name: "what can be fetched", asked: "3.9.3", says: "zookeeper fetch 3.9.3"},
		{name: "what cannot", asked: "3.5.9", says: ListVariable},
		{name: "a list with a mistake", asked: "3.8.0", list: at("none"), says: at("none")},
		{name: "a ZOOKEEPER_HOME with a mistake", asked: "3.8.0", home: at("none"), says: at("none")},
		{name: "a path is no version", asked: at("a"), want: "a"},
	} {
		f := finder{getenv: environment(HomeVariable, test.home, ListVariable, test.list), places: []string{at("usual/zookeeper.jar")}, cache: at("cache")}
		p, err := f.find(test.asked)
		if test.says != "" {
			if !errors.Is(err, ensemble.ErrNoZooKeeper) || !strings.Contains(err.Error(), test.says) || test.asked == "3.5.9" && strings.Contains(err.Error(), "fetch") {
				t.Errorf("%s: find(%q) = %v, want an error that says %q", test.name, test.asked, err, test.says)
			}
			continue
		}
		if got := strings.TrimPrefix(strings.TrimPrefix(p.Source, HomeVariable+" "), root+"/"); err != nil || got != test.want {
			t.Errorf("%s: find(%q) = %q, %v, want %q", test.name, test.asked, got, err, test.want)
		}
	}
	all, err := finder{getenv: environment(ListVariable, list), places: []string{at("usual/zookeeper.jar")}, cache: at("cache")}.all()
	var text []string
	for _, one := range all {
		if text = append(text, one.Version); one.Default {
			text = append(text, "default")
		}
	}
	if got, want := strings.Join(text, " "), "3.9.3 3.6.4 3.9.3 3.8.0 default 3.4.13 3.8.0"; err != nil || got != want {
		t.Errorf("all() = %s, %v, want %s", got, err, want)
	}
}
