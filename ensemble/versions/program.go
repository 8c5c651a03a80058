package versions

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

// Program is a ZooKeeper server that can be started.
type Program struct {
	Source    string   // where it was found, for people
	Version   string   // from the jar's manifest or file name; empty if neither says it
	ClassPath []string // jars, all from one place; each comes after those that its manifest names
	Foreign   []string // jars elsewhere that Java loads too, because manifests name them and they are missing in that place
}

// at returns the program in one place: a jar, or a directory, which may be the home of Apache's distribution, the root of unpacked Debian packages, or
// their directory of jars. ok is false if there is none.
func at(place string) (p Program, ok bool) {
	info, err := os.Stat(place)
	if err != nil {
		return Program{}, false
	}
	if !info.IsDir() {
		home := strings.TrimSuffix(filepath.Dir(place), string(filepath.Separator)+"lib")
		if p, ok := distribution(home); ok && p.ClassPath[0] == place {
			return p, true
		}
		return packaged(place), true
	}
	for _, jar := range []string{filepath.Join(place, javaDir, "zookeeper.jar"), filepath.Join(place, "zookeeper.jar")} {
		if _, err := os.Stat(jar); err == nil {
			return packaged(jar), true
		}
	}
	return distribution(place)
}

// javaDir is the directory of jars in Debian's packages.
const javaDir = "usr/share/java"

// distribution returns the program in the home directory of Apache's distribution. Since 3.5 the server's jar is in lib, before that it is beside lib.
func distribution(home string) (Program, bool) {
	var jars []string
	for _, pattern := range []string{"zookeeper-[0-9]*.jar", "lib/zookeeper-[0-9]*.jar", "lib/*.jar"} {
		found, _ := filepath.Glob(filepath.Join(home, pattern))
		jars = append(jars, slices.DeleteFunc(found, func(jar string) bool { return slices.Contains(jars, jar) })...)
	}
	if libraries, _ := filepath.Glob(filepath.Join(home, "lib/*.jar")); len(libraries) == 0 || !strings.HasPrefix(filepath.Base(jars[0]), "zookeeper-") {
		return Program{}, false
	}
	return Program{Source: home, Version: jarVersion(jars[0]), ClassPath: jars}, true
}

// packaged returns the program for the jar of a Linux distribution. Its manifest names the libraries by their absolute paths under /usr/share/java,
// so Java would load those of the system, and not those beside a jar that was unpacked elsewhere: their classes are found first only if their jars
// come before the ones that name them. The manifest names neither a logger, without which a failing server says nothing, nor, in 3.4, the
// logging API, nor the servlet classes, without which the AdminServer cannot start, nor all of Netty, without which there is no TLS; Debian installs
// all of them in the same directory.
func packaged(jar string) Program {
	p := Program{Source: jar, Version: jarVersion(jar)}
	seen := map[string]bool{}
	p.add(seen, jar)
	for _, beside := range []string{"slf4j-api.jar", "slf4j-simple.jar", "servlet-api.jar", "netty-codec.jar", "netty-resolver.jar"} {
		if path := filepath.Join(filepath.Dir(jar), beside); exists(path) {
			p.add(seen, path)
		}
	}
	return p
}

// add adds a jar, and before it what its manifest names.
func (p *Program) add(seen map[string]bool, jar string) {
	if seen[jar] {
		return
	}
	seen[jar] = true
	for _, name := range strings.Fields(manifestOf(jar)["Class-Path"]) {
		path := filepath.Join(filepath.Dir(jar), filepath.Base(name))
		if exists(path) {
			p.add(seen, path)
		} else if filepath.IsAbs(name) && exists(name) && !seen[name] {
			seen[name] = true
			p.Foreign = append(p.Foreign, name)
		}
	}
	p.ClassPath = append(p.ClassPath, jar)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// fits returns an error if the jars are of different ZooKeepers, as far as their names and manifests tell.
func (p Program) fits() error {
	for _, jar := range p.Foreign {
		if name := filepath.Base(jar); strings.HasPrefix(name, "zookeeper") {
			return fmt.Errorf("%w: %s: its manifest names %s, but %s is not beside it: Java would mix two ZooKeepers; put all jars of that version there",
				ensemble.ErrNoZooKeeper, p.Source, jar, name)
		}
	}
	for _, jar := range p.ClassPath {
		if name := filepath.Base(jar); strings.HasPrefix(name, "zookeeper-jute") {
			if v := jarVersion(jar); v != "" && p.Version != "" && v != p.Version {
				return fmt.Errorf("%w: %s: its server is %s, but %s is %s: jars of two ZooKeepers are mixed; put all jars of one version there",
					ensemble.ErrNoZooKeeper, p.Source, p.Version, jar, v)
			}
		}
	}
	return nil
}

var unlinked = regexp.MustCompile(`java\.lang\.(NoSuchMethodError|NoSuchFieldError|NoClassDefFoundError|AbstractMethodError|IncompatibleClassChangeError|` +
	`ClassNotFoundException|IllegalAccessError|VerifyError)[^\n]*`)

// Mixed returns which jars were mixed if a server's log says that classes do not fit together, and otherwise "".
func (p Program) Mixed(log string) string {
	said := unlinked.FindString(log)
	if said == "" {
		return ""
	}
	text := "jars of different versions are mixed (" + said + "): the class path has "
	for i, jar := range p.ClassPath {
		if !strings.HasPrefix(filepath.Base(jar), "zookeeper") {
			continue
		}
		if version := jarVersion(jar); version != "" {
			jar += " (" + version + ")"
		}
		if i > 0 && !strings.HasSuffix(text, " ") {
			text += ", "
		}
		text += jar
	}
	text += " and the libraries beside"
	if len(p.Foreign) > 0 {
		text += "; Java adds " + strings.Join(p.Foreign, ", ") + ", which manifests name and which are missing there"
	}
	return text
}

// jarVersion reads the manifest; Debian's has no version, but the name of the jar, or of a link to it, does.
func jarVersion(jar string) string {
	manifest := manifestOf(jar)
	for _, key := range []string{"Implementation-Version", "Bundle-Version"} {
		if v := ensemble.PlainVersion(manifest[key]); v != "" {
			return v
		}
	}
	real, err := filepath.EvalSymlinks(jar)
	if err != nil {
		real = jar
	}
	links, _ := filepath.Glob(strings.TrimSuffix(jar, ".jar") + "-[0-9]*.jar")
	for _, path := range append([]string{jar, real}, links...) {
		if target, err := filepath.EvalSymlinks(path); err != nil || target != real {
			continue
		}
		if m := versionInName.FindStringSubmatch(path); m != nil {
			return m[1]
		}
	}
	return ""
}

var versionInName = regexp.MustCompile(`-(\d+\.\d+\.\d+[^/]*)\.jar$`)

// manifestOf returns the main section of a jar's manifest; nil if it cannot be read.
func manifestOf(jar string) map[string]string {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return nil
	}
	defer archive.Close()
	file, err := archive.Open("META-INF/MANIFEST.MF")
	if err != nil {
		return nil
	}
	defer file.Close()
	return parseManifest(file)
}

// parseManifest parses the main section, which ends with an empty line; lines that begin with a space continue the one before.
func parseManifest(r io.Reader) map[string]string {
	all, key := map[string]string{}, ""
	for lines := bufio.NewScanner(r); lines.Scan() && lines.Text() != ""; {
		if more, continued := strings.CutPrefix(lines.Text(), " "); continued {
			all[key] += more
			continue
		}
		var value string
		key, value, _ = strings.Cut(lines.Text(), ":")
		all[key] = strings.TrimPrefix(value, " ")
	}
	return all
}
