package local

import (
	"archive/zip"
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
)

// finder looks for Java and for ZooKeeper's server. Its fields are the outside world, so that tests can bring their own.
type finder struct {
	getenv func(string) string
	places []string // jars and home directories to try when nothing was said, best first
}

func systemFinder() finder {
	return finder{getenv: os.Getenv, places: []string{
		"/usr/share/java/zookeeper.jar", // Debian and its relatives
		"/usr/share/zookeeper", "/opt/zookeeper", "/usr/local/zookeeper",
		"/opt/homebrew/opt/zookeeper/libexec", "/usr/local/opt/zookeeper/libexec",
	}}
}

// Missing is why no servers can be started here; nil if they can.
func Missing() error {
	find := systemFinder()
	if _, err := find.java(""); err != nil {
		return err
	}
	_, err := find.zookeeper("")
	return err
}

// program is a ZooKeeper server that can be started.
type program struct {
	Source    string   // where it was found, for people
	Version   string   // from the jar's manifest or file name; empty if neither says it
	ClassPath []string // jars, the server's own first
}

// java finds the java program: the one asked for, JAVA_HOME's, or the first in PATH. A JAVA_HOME without java is an error
// and not a reason to search on: the user would measure on another Java than he named.
func (f finder) java(asked string) (string, error) {
	if asked != "" {
		if !executable(asked) {
			return "", fmt.Errorf("%w: %s is not a program", ensemble.ErrNoJava, asked)
		}
		return asked, nil
	}
	if home := f.getenv("JAVA_HOME"); home != "" {
		path := filepath.Join(home, "bin", "java")
		if !executable(path) {
			return "", fmt.Errorf("%w: JAVA_HOME is %s, but there is no %s; correct JAVA_HOME or unset it", ensemble.ErrNoJava, home, path)
		}
		return path, nil
	}
	for _, dir := range filepath.SplitList(f.getenv("PATH")) {
		if path := filepath.Join(dir, "java"); dir != "" && executable(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w in PATH and JAVA_HOME is not set; install it (sudo apt-get install default-jre-headless) or set JAVA_HOME", ensemble.ErrNoJava)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// javaVersion reads the file release that every Java since 8 has in its home; empty if it cannot be told.
func javaVersion(java string) string {
	real, err := filepath.EvalSymlinks(java)
	if err != nil {
		return ""
	}
	release, err := os.ReadFile(filepath.Join(filepath.Dir(real), "..", "release"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(release)) {
		if value, ok := strings.CutPrefix(line, "JAVA_VERSION="); ok {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// zookeeper finds the server: what was asked for, ZOOKEEPER_HOME, or the usual places. As with java, a place that was named
// and holds nothing is an error.
func (f finder) zookeeper(asked string) (program, error) {
	if asked != "" {
		return named("", asked)
	}
	if home := f.getenv("ZOOKEEPER_HOME"); home != "" {
		return named("ZOOKEEPER_HOME ", home)
	}
	for _, place := range f.places {
		if p, ok := programAt(place); ok {
			return p, nil
		}
	}
	return program{}, fmt.Errorf("%w in %s and ZOOKEEPER_HOME is not set; install it (sudo apt-get install zookeeper), or unpack "+
		"apache-zookeeper-VERSION-bin.tar.gz and set ZOOKEEPER_HOME to its directory", ensemble.ErrNoZooKeeper, strings.Join(f.places, ", "))
}

func named(by, place string) (program, error) {
	p, ok := programAt(place)
	if !ok {
		remedy := "correct it"
		if by != "" {
			remedy += ", or unset it and install ZooKeeper where it is looked for (sudo apt-get install zookeeper)"
		}
		return program{}, fmt.Errorf("%w: %s%s holds no zookeeper jar (looked for zookeeper-*.jar there and in lib); %s", ensemble.ErrNoZooKeeper, by, place, remedy)
	}
	p.Source = by + p.Source
	return p, nil
}

// programAt looks at one place: a jar, whose manifest names what else it needs, or the home directory of a distribution.
func programAt(place string) (program, bool) {
	info, err := os.Stat(place)
	if err != nil {
		return program{}, false
	}
	if !info.IsDir() {
		return packagedJar(place), true
	}
	// Since 3.5 the server's jar lies in lib, before beside it.
	var jars []string
	for _, pattern := range []string{"zookeeper-[0-9]*.jar", "lib/zookeeper-[0-9]*.jar", "lib/*.jar"} {
		found, _ := filepath.Glob(filepath.Join(place, pattern))
		jars = append(jars, slices.DeleteFunc(found, func(jar string) bool { return slices.Contains(jars, jar) })...)
	}
	if len(jars) == 0 || !strings.HasPrefix(filepath.Base(jars[0]), "zookeeper-") {
		return program{}, false
	}
	return program{Source: place, Version: jarVersion(jars[0]), ClassPath: jars}, true
}

// packagedJar is the jar of a Linux distribution. Debian's manifest names the libraries, but neither a logger, without which
// a server that fails says nothing, nor the servlet classes, without which the AdminServer cannot start, nor all of Netty, without
// which there is no TLS; all are installed beside it with the package.
func packagedJar(jar string) program {
	classPath := []string{jar}
	for _, beside := range []string{"slf4j-simple.jar", "servlet-api.jar", "netty-codec.jar", "netty-resolver.jar"} {
		path := filepath.Join(filepath.Dir(jar), beside)
		if _, err := os.Stat(path); err == nil {
			classPath = append(classPath, path)
		}
	}
	return program{Source: jar, Version: jarVersion(jar), ClassPath: classPath}
}

var versionInName = regexp.MustCompile(`zookeeper-(\d+\.\d+\.\d+[^/]*)\.jar$`)

// jarVersion reads the manifest; Debian's has no version, but there a link with the version in its name points to the jar.
func jarVersion(jar string) string {
	if v := manifestVersion(jar); v != "" {
		return v
	}
	real, err := filepath.EvalSymlinks(jar)
	if err != nil {
		real = jar
	}
	candidates, _ := filepath.Glob(filepath.Join(filepath.Dir(jar), "zookeeper-[0-9]*.jar"))
	for _, path := range append([]string{jar, real}, candidates...) {
		if target, err := filepath.EvalSymlinks(path); err != nil || target != real {
			continue
		}
		if m := versionInName.FindStringSubmatch(path); m != nil {
			return m[1]
		}
	}
	return ""
}

func manifestVersion(jar string) string {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return ""
	}
	defer archive.Close()
	file, err := archive.Open("META-INF/MANIFEST.MF")
	if err != nil {
		return ""
	}
	defer file.Close()
	return versionOf(file)
}

// versionOf reads the version from a manifest: Implementation-Version, else Bundle-Version.
func versionOf(manifest io.Reader) string {
	var bundle string
	for lines := bufio.NewScanner(manifest); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch key {
		case "Implementation-Version":
			return ensemble.PlainVersion(value)
		case "Bundle-Version":
			bundle = ensemble.PlainVersion(value)
		}
	}
	return bundle
}
