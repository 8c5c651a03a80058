package command

import (
	"runtime/debug"
	"testing"

	"github.com/zkbench/zkbench/internal/program"
)

// What Go writes into a binary, as 'go version -m' shows it, and the version that the command prints for it.
func TestTheVersionIsThatOfTheSource(t *testing.T) {
	zkbench := func(version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: program.Module, Version: version}}
	}
	built := func(info *debug.BuildInfo, modified string) *debug.BuildInfo {
		info.Settings = []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "46c3044b5e3c1bd6dd3a3a91d1e2a31dbb3a3e41"}, {Key: "vcs.modified", Value: modified}}
		return info
	}
	yours := func(version string, zkbench debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: "example.com/yours", Version: version}, Deps: []*debug.Module{{Path: "example.com/other", Version: "v9.9.9"}, &zkbench}}
	}
	for _, c := range []struct {
		what string
		info *debug.BuildInfo
		want string
	}{
		{"built at a tag", built(zkbench("v1.2.3"), "false"), "v1.2.3"},
		{"at a tag, with changes", built(zkbench("v1.2.3+dirty"), "true"), "v1.2.3+changes"},
		{"at the tag of a pre-release", built(zkbench("v1.2.3-rc.1"), "false"), "v1.2.3-rc.1"},
		{"installed by a tag", zkbench("v1.2.3"), "v1.2.3"},
		{"built before any tag", built(zkbench("v0.0.0-20261122210512-46c3044b5e3c"), "false"), "devel-46c3044b5e3c"},
		{"before any tag, with changes", built(zkbench("v0.0.0-20261122210512-46c3044b5e3c+dirty"), "true"), "devel-46c3044b5e3c+changes"},
		{"built after a tag", built(zkbench("v1.2.4-0.20261122210512-46c3044b5e3c"), "false"), "devel-46c3044b5e3c"},
		{"built after a pre-release", built(zkbench("v1.2.3-rc.1.0.20261122210512-46c3044b5e3c"), "false"), "devel-46c3044b5e3c"},
		{"installed by a revision", zkbench("v0.0.0-20261122210512-46c3044b5e3c"), "devel-46c3044b5e3c"},
		{"an older Go, which writes no version", built(zkbench("(devel)"), "true"), "devel-46c3044b5e3c+changes"},
		{"built without version control", zkbench("(devel)"), "devel"},
		{"go run of files", &debug.BuildInfo{}, "devel"},
		{"with yours, by a tag", yours("v0.3.0", debug.Module{Path: program.Module, Version: "v1.2.3"}), "v1.2.3 in example.com/yours v0.3.0"},
		{"with yours, by a revision", built(yours("v0.3.1-0.20261122210512-46c3044b5e3c+dirty", debug.Module{Path: program.Module, Version: "v0.0.0-20261122210512-0123456789ab"}), "true"),
			"devel-0123456789ab in example.com/yours devel-46c3044b5e3c+changes"},
		{"with yours, from a directory", yours("(devel)", debug.Module{Path: program.Module, Version: "v1.2.3", Replace: &debug.Module{Path: "../zkbench", Version: "(devel)"}}), "devel in example.com/yours devel"},
		{"with yours, from a fork", yours("(devel)", debug.Module{Path: program.Module, Version: "v1.2.3", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.3.0"}}),
			"v1.3.0 in example.com/yours devel"},
	} {
		if got := versionOf(c.info); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
