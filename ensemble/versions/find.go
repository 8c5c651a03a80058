package versions

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/program"
)

// The environment variables that say where servers are.
const (
	HomeVariable  = "ZOOKEEPER_HOME"          // the server that is used if no other one is named
	ListVariable  = "ZKBENCH_ZOOKEEPERS"      // more servers: a list of directories and jars, separated as in PATH
	CacheVariable = "ZKBENCH_ZOOKEEPER_CACHE" // where Fetch puts them, instead of the user's cache directory
)

// Find returns the server that was asked for: by its version, by its home directory or jar, or with "" that of ZOOKEEPER_HOME, else the first in the usual
// places. A named place without a server is an error rather than a reason to search on: the user would measure another server than the one named. All errors
// wrap ensemble.ErrNoZooKeeper.
func Find(asked string) (Program, error) { return system().find(asked) }

// IsVersion reports whether a text is a version, and not the path of a directory or jar.
func IsVersion(text string) bool { return versionOnly.MatchString(text) }

var versionOnly = regexp.MustCompile(`^\d+\.\d+\.\d+(-[A-Za-z0-9]+)?$`)

// Found is a server and how it was found.
type Found struct {
	Program
	By      string // the environment variable that names its place, "the usual places", or "fetched"
	Default bool   // it is used if no other one is named
}

// All returns all servers that are found by their version, in the order in which they are looked for, also those whose version is unknown. The error says which named
// places have none.
func All() ([]Found, error) { return system().all() }

// Cache returns the directory that Fetch fills.
func Cache() (string, error) {
	if dir := os.Getenv(CacheVariable); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cache directory: %w; set %s", err, CacheVariable)
	}
	return filepath.Join(dir, "zkbench", "zookeeper"), nil
}

// finder finds servers. Its fields are its view of the system, so that tests can provide their own.
type finder struct {
	getenv func(string) string
	places []string // jars and home directories to try if none was given, best first
	cache  string   // "" if there is none
}

func system() finder {
	cache, _ := Cache() // Fetch reports the error
	return finder{getenv: os.Getenv, cache: cache, places: []string{
		"/usr/share/java/zookeeper.jar", // Debian and its derivatives
		"/usr/share/zookeeper", "/opt/zookeeper", "/usr/local/zookeeper",
		"/opt/homebrew/opt/zookeeper/libexec", "/usr/local/opt/zookeeper/libexec",
	}}
}

func (f finder) find(asked string) (p Program, err error) {
	switch home := f.getenv(HomeVariable); {
	case IsVersion(asked):
		p, err = f.version(asked)
	case asked != "":
		p, err = named("", asked)
	case home != "":
		p, err = named(HomeVariable+" ", home)
	default:
		p, err = f.usual()
	}
	if err == nil {
		err = p.fits()
	}
	return p, err
}

func (f finder) usual() (Program, error) {
	for _, place := range f.places {
		if p, ok := at(place); ok {
			return p, nil
		}
	}
	return Program{}, fmt.Errorf("%w in %s and %s is not set; install it (sudo apt-get install zookeeper), or unpack apache-zookeeper-VERSION-bin.tar.gz and set "+
		"%s to its directory, or name a version (%s zookeeper list)", ensemble.ErrNoZooKeeper, strings.Join(f.places, ", "), HomeVariable, HomeVariable, program.Name())
}

func named(by, place string) (Program, error) {
	p, ok := at(place)
	if !ok {
		remedy := "correct it"
		if by != "" {
			remedy += ", or unset it and install ZooKeeper where it is looked for (sudo apt-get install zookeeper)"
		}
		return Program{}, fmt.Errorf("%w: %s%s holds no zookeeper jar (looked for zookeeper-*.jar there and in lib, and for zookeeper.jar there and in %s); %s",
			ensemble.ErrNoZooKeeper, by, place, javaDir, remedy)
	}
	p.Source = by + p.Source
	return p, nil
}

// version finds a server by its version.
func (f finder) version(asked string) (Program, error) {
	all, err := f.all()
	if err != nil {
		return Program{}, err
	}
	var others []string
	for _, one := range all {
		if one.Version == asked {
			return one.Program, nil
		}
		if text := fmt.Sprintf("%s at %s", orUnknown(one.Version), one.Source); !slices.Contains(others, text) {
			others = append(others, text)
		}
	}
	found, remedy := "none", fmt.Sprintf("unpack that version and name its directory in %s", ListVariable)
	if len(others) > 0 {
		found = strings.Join(others, ", ")
	}
	if _, packaged := release(asked); packaged {
		remedy = fmt.Sprintf("'%s zookeeper fetch %s' fetches it, or %s", program.Name(), asked, remedy)
	}
	return Program{}, fmt.Errorf("%w with version %s; found: %s; %s", ensemble.ErrNoZooKeeper, asked, found, remedy)
}

func orUnknown(version string) string {
	if version == "" {
		return "unknown version"
	}
	return version
}

func (f finder) all() (all []Found, err error) {
	if home := f.getenv(HomeVariable); home != "" {
		p, err := named(HomeVariable+" ", home)
		if err != nil {
			return nil, err
		}
		all = append(all, Found{p, HomeVariable, true})
	}
	for _, place := range filepath.SplitList(f.getenv(ListVariable)) {
		within := in(place)
		if len(within) == 0 {
			return nil, fmt.Errorf("%w: %s: neither %q nor a directory in it holds a zookeeper jar; correct the list", ensemble.ErrNoZooKeeper, ListVariable, place)
		}
		for _, p := range within {
			all = append(all, Found{p, ListVariable, false})
		}
	}
	for _, place := range f.places {
		if p, ok := at(place); ok {
			all = append(all, Found{p, "the usual places", !slices.ContainsFunc(all, func(f Found) bool { return f.Default })})
		}
	}
	if f.cache != "" {
		for _, p := range in(f.cache) {
			all = append(all, Found{p, "fetched", false})
		}
	}
	return all, nil
}

// in returns the program in a place, or else those in its subdirectories.
func in(place string) (all []Program) {
	if p, ok := at(place); ok {
		return []Program{p}
	}
	entries, err := os.ReadDir(place)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // an unfinished fetch
		}
		sub := filepath.Join(place, e.Name())
		if info, err := os.Stat(sub); err != nil || !info.IsDir() {
			continue
		}
		if p, ok := at(sub); ok {
			all = append(all, p)
		}
	}
	return all
}
