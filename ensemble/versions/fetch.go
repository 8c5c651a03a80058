package versions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Release is a release of Debian and the version of ZooKeeper that it packages.
type Release struct{ Version, Name, Number string }

// Releases returns those that Fetch knows, oldest first.
func Releases() []Release {
	return []Release{{"3.4.13", "bullseye", "11"}, {"3.8.0", "bookworm", "12"}, {"3.9.3", "trixie", "13"}}
}

func release(version string) (Release, bool) {
	all := Releases()
	i := slices.IndexFunc(all, func(r Release) bool { return r.Version == version })
	if i < 0 {
		return Release{}, false
	}
	return all[i], true
}

// keyring has the keys of Debian's archive, which apt checks the lists of packages with; they have the hashes of the packages.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// Fetch downloads ZooKeeper of a version and the libraries that it needs from the packages of the Debian release that has it, and returns their directory:
// the version's in Cache, which stays as it is if it exists. mirror is the URL of an archive; "" is the system's own. tell is called with what will happen
// before anything does, and at each step. apt works in a directory of its own beside the result, which is removed at the end, with its own sources, lists and
// packages; it takes only its network settings from the system, and changes nothing of it. ctx ends the download.
func Fetch(ctx context.Context, version, mirror string, tell func(string)) (dir string, err error) {
	r, known := release(version)
	if !known {
		var names []string
		for _, r := range Releases() {
			names = append(names, r.Version)
		}
		return "", fmt.Errorf("no Debian release with ZooKeeper %s is known (expected %s); unpack apache-zookeeper-%s-bin.tar.gz and name its directory in %s",
			version, strings.Join(names, ", "), version, ListVariable)
	}
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(cache, version)
	if p, ok := at(dir); ok && p.Version == version {
		tell(fmt.Sprintf("ZooKeeper %s is there: %s", version, dir))
		return dir, nil
	}
	if err := needs(); err != nil {
		return "", err
	}
	if mirror == "" {
		if mirror, err = systemMirror(ctx); err != nil {
			return "", err
		}
	}
	tell(fmt.Sprintf("fetching ZooKeeper %s, the package libzookeeper-java of Debian %s (%s), and the Java libraries that it depends on, from %s: up to 60 MB", version, r.Number, r.Name, mirror))
	tell(fmt.Sprintf("it needs apt-get, dpkg-deb and %s, and writes only %s; the system's packages, lists and settings stay as they are", keyring, dir))
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(cache, ".fetch-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	root := filepath.Join(work, "root")
	if err := fetch(ctx, work, root, mirror, r, tell); err != nil {
		return "", fmt.Errorf("fetch ZooKeeper %s: %w", version, err)
	}
	if p, ok := at(root); !ok || p.Version != version || p.fits() != nil {
		return "", fmt.Errorf("fetch ZooKeeper %s: the packages of %s have no server of that version, but %q (%v)", version, r.Name, p.Version, p.fits())
	}
	if err := os.Rename(root, dir); err != nil && !errors.Is(err, fs.ErrExist) { // another process may have been faster
		return "", err
	}
	return dir, nil
}

func needs() error {
	var missing []string
	for _, program := range []struct{ name, of string }{{"apt-get", "apt"}, {"dpkg-deb", "dpkg"}} {
		if _, err := exec.LookPath(program.name); err != nil {
			missing = append(missing, program.name+" (package "+program.of+")")
		}
	}
	if !exists(keyring) {
		missing = append(missing, keyring+" (package debian-archive-keyring)")
	}
	if len(missing) > 0 {
		return fmt.Errorf("fetching needs %s; or unpack apache-zookeeper-VERSION-bin.tar.gz and name its directory in %s", strings.Join(missing, " and "), ListVariable)
	}
	return nil
}

// fetch unpacks the packages into root.
func fetch(ctx context.Context, work, root, mirror string, r Release, tell func(string)) error {
	a := apt{dir: filepath.Join(work, "apt")}
	if err := a.prepare(mirror, r.Name); err != nil {
		return err
	}
	if _, err := a.run(ctx, "apt-get", "update"); err != nil {
		return err
	}
	said, err := a.run(ctx, "apt-get", "--simulate", "--no-install-recommends", "install", "libzookeeper-java")
	if err != nil {
		return err
	}
	packages, has := closure(said)
	if !strings.HasPrefix(has, r.Version+"-") {
		return fmt.Errorf("libzookeeper-java of %s is now %q, not %s", r.Name, has, r.Version)
	}
	tell(fmt.Sprintf("downloading libzookeeper-java %s and %d other packages", has, len(packages)-1))
	if _, err := a.run(ctx, "apt-get", append([]string{"download"}, packages...)...); err != nil {
		return err
	}
	debs, err := filepath.Glob(filepath.Join(a.dir, "*.deb"))
	if err != nil || len(debs) != len(packages) {
		return fmt.Errorf("apt-get downloaded %d of %d packages (%v)", len(debs), len(packages), err)
	}
	for _, deb := range debs {
		if _, err := a.run(ctx, "dpkg-deb", "--extract", deb, root); err != nil {
			return err
		}
	}
	return nil
}

var installed = regexp.MustCompile(`(?m)^Inst (\S+) \((\S+) `)

// closure returns, of the packages that apt-get would install, those of Java libraries, and the version of libzookeeper-java.
func closure(simulated string) (packages []string, has string) {
	for _, m := range installed.FindAllStringSubmatch(simulated, -1) {
		if strings.HasSuffix(m[1], "-java") {
			packages = append(packages, m[1])
		}
		if m[1] == "libzookeeper-java" {
			has = m[2]
		}
	}
	return packages, has
}

// apt is an apt with its own sources, lists, packages and state in a directory.
type apt struct{ dir string }

func (a apt) prepare(mirror, release string) error {
	if strings.ContainsAny(mirror, " []\n") {
		return fmt.Errorf("mirror %q: expected a URL", mirror)
	}
	for _, d := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.dir, d), 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"status":       "", // nothing is installed: the simulation names all libraries
		"sources.list": fmt.Sprintf("deb [target=Packages signed-by=%s] %s %s main\n", keyring, mirror, release),
		// This file is read after the system's settings: it has the last word. The system's hooks would clear its caches and refresh its indexes.
		"apt.conf": strings.NewReplacer("DIR", a.dir).Replace(`#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
Dir::Etc::sourcelist "DIR/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "DIR";
Dir::State::lists "DIR/lists/";
Dir::State::status "DIR/status";
Dir::State::extended_states "DIR/extended_states";
Dir::Cache "DIR/cache";
Dir::Cache::archives "DIR/cache/archives/";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "srcpkgcache.bin";
Dir::Log "DIR";
APT::Default-Release "";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Update::Error-Mode "any";
`),
	} {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	// Where root runs apt, the user _apt downloads.
	return errors.Join(os.Chmod(filepath.Dir(a.dir), 0o755), os.Chmod(a.dir, 0o755))
}

// run runs a program in the directory and returns its output.
func (a apt) run(ctx context.Context, program string, args ...string) (string, error) {
	if strings.HasPrefix(program, "apt") {
		args = append([]string{"--quiet=2", "--config-file", filepath.Join(a.dir, "apt.conf")}, args...)
	}
	c := exec.CommandContext(ctx, program, args...)
	c.Dir = a.dir
	c.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var out, wrong bytes.Buffer
	c.Stdout, c.Stderr = &out, &wrong
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", fmt.Errorf("%s: %w: %s", strings.Join(c.Args, " "), err, strings.TrimSpace(wrong.String()))
	}
	return out.String(), nil
}

// systemMirror returns the URL of the archive of Debian that this system gets its packages from.
func systemMirror(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)", "Created-By: Packages").Output()
	if err != nil {
		return "", fmt.Errorf("apt-get indextargets, which says where this system gets its packages from: %w; name a mirror of Debian with --mirror", err)
	}
	if mirror := mirrorIn(string(out)); mirror != "" {
		return mirror, nil
	}
	return "", errors.New("this system's sources name no archive of Debian; name a mirror of it with --mirror URL")
}

// mirrorIn returns the archive in lines of 'URL RELEASE COMPONENT [ORIGIN]' that has a release of Debian; the origin is known once its lists were downloaded.
func mirrorIn(targets string) string {
	found := ""
	for line := range strings.Lines(targets) {
		f := strings.Fields(line)
		if len(f) < 3 || f[2] != "main" || !slices.Contains(suites, f[1]) {
			continue
		}
		if len(f) > 3 && f[3] == "Debian" {
			return f[0]
		}
		if found == "" && len(f) == 3 {
			found = f[0]
		}
	}
	return found
}

// suites are the names of Debian's releases in sources of packages.
var suites = []string{"bullseye", "bookworm", "trixie", "forky", "sid", "oldoldstable", "oldstable", "stable", "testing", "unstable"}
