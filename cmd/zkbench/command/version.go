package command

import (
	"regexp"
	"runtime/debug"

	"github.com/zkbench/zkbench/internal/program"
)

// versionText returns the version of this binary, from its build information.
func versionText() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionOf(info)
}

// versionOf returns the tag of the source, such as v1.2.3, or devel and its revision. A program that adds recipes has zkbench as a dependency, and
// reports its own version too.
func versionOf(info *debug.BuildInfo) string {
	if info.Main.Path == program.Module || info.Main.Path == "" {
		return versionOfMain(info)
	}
	version := "devel" // for a directory with which the program's go.mod replaces zkbench
	for _, m := range info.Deps {
		if m.Path != program.Module {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version != "" && m.Version != "(devel)" {
			version = moduleVersion(m.Version)
		}
	}
	return version + " in " + info.Main.Path + " " + versionOfMain(info)
}

// versionOfMain returns the version of the main module: a tag, or the revision of the working directory that it was built in.
func versionOfMain(info *debug.BuildInfo) string {
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = changed
			}
		}
	}
	switch v := info.Main.Version; {
	case v != "" && v != "(devel)" && !pseudo.MatchString(v):
		return moduleVersion(v)
	case revision != "":
		return "devel-" + revision + dirty
	case v != "" && v != "(devel)": // go install MODULE/cmd/zkbench@REVISION
		return moduleVersion(v)
	}
	return "devel"
}

// changed ends the version of a source with uncommitted changes.
const changed = "+changes"

// pseudo matches Go's pseudo-version of a revision without a tag: v0.0.0-20260102030405-0123456789ab, with another start after a tag.
var pseudo = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+-(?:.*\.)?[0-9]{14}-([0-9a-f]{12})(\+.*)?$`)

// moduleVersion converts the version of a Go module to zkbench's form.
func moduleVersion(v string) string {
	if m := pseudo.FindStringSubmatch(v); m != nil {
		v = "devel-" + m[1] + m[2]
	}
	return dirtyEnd.ReplaceAllString(v, changed)
}

var dirtyEnd = regexp.MustCompile(`\+dirty$`)
