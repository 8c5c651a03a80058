// Command dist builds what a release consists of, from the last commit: binaries, packages, images, the list of their modules, and checksums. The bytes
// of its files depend on the commit, its tag and the version of Go alone.
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

// everywhere is the systems that a release is for.
const everywhere = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

func main() {
	out := flag.String("out", "dist", "write the files to this `directory`, which must be empty or not exist")
	targets := flag.String("targets", everywhere, "build for these systems")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "dist takes no arguments")
		os.Exit(2)
	}
	if err := build(*out, strings.Split(*targets, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// release is what its files have in common.
type release struct {
	source  string // a clone of the commit
	work    string // for binaries
	tag     string // v1.2.3; without one, devel and the revision
	version string // the tag without its v
	debian  string // the version of the Debian package
	at      time.Time
	shared  []file // the license, the manual page and so on, in every archive
	modules map[string]*debug.Module
	goes    string // the version of Go
}

func build(out string, targets []string) error {
	if entries, err := os.ReadDir(out); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: remove it, or choose another directory with -out", out)
	}
	work, err := os.MkdirTemp("", "zkbench-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := &release{source: filepath.Join(work, "source"), work: work, modules: map[string]*debug.Module{}}
	if err := r.clone(); err != nil {
		return err
	}
	binaries := map[string][]byte{}
	host := runtime.GOOS + "/" + runtime.GOARCH
	for _, t := range slices.Insert(slices.DeleteFunc(slices.Clone(targets), func(t string) bool { return t == host }), 0, host) {
		if binaries[t], err = r.compile(t); err != nil {
			return err
		}
	}
	if err := r.share(r.binary(host)); err != nil {
		return err
	}
	files := map[string][]byte{"zkbench_" + r.version + ".cdx.json": r.sbom()}
	for _, t := range targets {
		system, arch, _ := strings.Cut(t, "/")
		name := "zkbench_" + r.version + "_" + system + "_" + arch
		if system == "windows" {
			files[name+".zip"] = zipped(r.at, under(name, slices.Concat(r.shared, []file{{"zkbench.exe", 0o755, binaries[t]}})))
			continue
		}
		files[name+".tar.gz"] = tarball(r.at, under(name, slices.Concat(r.shared, []file{{"zkbench", 0o755, binaries[t]}})))
		if system == "linux" {
			files["zkbench_"+r.debian+"_"+arch+".deb"] = r.deb(arch, binaries[t])
			files[name+".image.tar.gz"] = r.image(arch, binaries[t])
		}
	}
	return write(out, files)
}

// write writes the files and their checksums.
func write(out string, files map[string][]byte) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	files["SHA256SUMS"] = []byte(sums.String())
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
			return err
		}
	}
	fmt.Print(sums.String())
	return nil
}

// clone copies the last commit: what is not committed is in no release, and Go takes the version from a repository without changes.
func (r *release) clone() error {
	if changes, err := run("", nil, "git", "status", "--porcelain"); err != nil {
		return err
	} else if changes != "" {
		fmt.Fprintln(os.Stderr, "uncommitted changes are not in this release")
	}
	if _, err := run("", nil, "git", "clone", "--quiet", ".", r.source); err != nil {
		return err
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH") // reproducible-builds.org/specs/source-date-epoch
	if epoch == "" {
		var err error
		if epoch, err = run(r.source, nil, "git", "log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds", epoch)
	}
	r.at = time.Unix(seconds, 0).UTC()
	return nil
}

func (r *release) binary(target string) string {
	return filepath.Join(r.work, strings.ReplaceAll(target, "/", "-"))
}

// compile builds the command for a system, and notes the modules in it.
func (r *release) compile(target string) ([]byte, error) {
	system, arch, _ := strings.Cut(target, "/")
	fmt.Fprintln(os.Stderr, "compiling for", target)
	environment := []string{"GOOS=" + system, "GOARCH=" + arch, "CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off"}
	if _, err := run(r.source, environment, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", r.binary(target), "./cmd/zkbench"); err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(r.binary(target))
	if err != nil {
		return nil, err
	}
	r.goes = info.GoVersion
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		r.modules[m.Path] = m
	}
	return os.ReadFile(r.binary(target))
}

// share asks the binary for this machine for its version, the manual page and the completions, and gathers the licenses.
func (r *release) share(zkbench string) error {
	text, err := run("", nil, zkbench, "version")
	if err != nil {
		return err
	}
	if r.tag, r.debian, err = versions(text, r.at); err != nil {
		return err
	}
	r.version = strings.TrimPrefix(r.tag, "v")
	for name, command := range map[string][]string{"zkbench.1": {"man"}, "completions/zkbench.bash": {"completion", "bash"},
		"completions/_zkbench": {"completion", "zsh"}, "completions/zkbench.fish": {"completion", "fish"}} {
		if text, err = run("", nil, zkbench, command...); err != nil {
			return err
		}
		r.shared = append(r.shared, file{name, 0o644, []byte(text + "\n")})
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return err
		}
		r.shared = append(r.shared, file{name, 0o644, data})
	}
	notices, err := r.notices()
	r.shared = append(r.shared, file{"NOTICES", 0o644, notices})
	slices.SortFunc(r.shared, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return err
}

// of returns a shared file.
func (r *release) of(name string) []byte {
	return r.shared[slices.IndexFunc(r.shared, func(f file) bool { return f.name == name })].data
}

var tagged = regexp.MustCompile(`^v([0-9]+\.[0-9]+\.[0-9]+)(?:-([0-9A-Za-z.-]+))?$`)

// versions takes the version from what 'zkbench version' prints: a tag, such as v1.2.3 or v1.2.3-rc.1, or devel and the revision. To Debian, ~ sorts before
// the end, so that a release is newer than its candidates, and any release newer than a revision.
func versions(printed string, at time.Time) (tag, debian string, err error) {
	for tag := range strings.FieldsSeq(printed) {
		if m := tagged.FindStringSubmatch(tag); m != nil && m[2] != "" {
			return tag, m[1] + "~" + strings.ReplaceAll(m[2], "-", "."), nil
		} else if m != nil {
			return tag, m[1], nil
		}
		if revision, is := strings.CutPrefix(tag, "devel-"); is && !strings.Contains(revision, "+") {
			return tag, "0~" + at.Format("20060102150405") + "." + revision, nil
		}
	}
	return "", "", fmt.Errorf("%q has neither a tag nor a revision without changes: Go did not take the version from the repository", printed)
}

// notices returns the licenses of what is in the binaries: Go's library and the modules.
func (r *release) notices() ([]byte, error) {
	root, err := run(r.source, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	listed, err := run(r.source, nil, "go", append([]string{"list", "-m", "-f", "{{.Path}} {{.Version}}\t{{.Dir}}"}, slices.Sorted(maps.Keys(r.modules))...)...)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("zkbench contains the following modules, under their own licenses.\n")
	for line := range strings.SplitSeq("Go's standard library "+r.goes+"\t"+root+"\n"+listed, "\n") {
		name, dir, _ := strings.Cut(line, "\t")
		found := 0
		for _, pattern := range []string{"LICENSE*", "COPYING*", "NOTICE*"} {
			names, _ := filepath.Glob(filepath.Join(dir, pattern))
			for _, path := range names {
				text, err := os.ReadFile(path)
				if err != nil {
					return nil, err
				}
				found++
				fmt.Fprintf(&b, "\n---- %s: %s\n\n%s\n", name, filepath.Base(path), bytes.TrimSpace(text))
			}
		}
		if found == 0 {
			return nil, fmt.Errorf("%s has no license in %s", name, dir)
		}
	}
	return b.Bytes(), nil
}

// run runs a command and returns its output without the last line end.
func run(dir string, environment []string, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), environment...)
	var problems bytes.Buffer
	c.Stderr = &problems
	text, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w", c, errors.Join(err, errors.New(strings.TrimSpace(problems.String()))))
	}
	return strings.TrimSuffix(string(text), "\n"), err
}
