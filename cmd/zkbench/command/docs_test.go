package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	inlineCode = regexp.MustCompile("`([^`]+)`")
	docCommand = regexp.MustCompile(`^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\./)?(?:bin/)?(zkbench|go test|make) ([a-z.'-][^|#;&>]*)`)
	inner      = regexp.MustCompile(`\$\([^)]*\)| -- .*`) // commands of their own
	docFlag    = regexp.MustCompile(`(?:^|[\s\[])(--[a-z][a-z-]*)`)
	docTarget  = regexp.MustCompile(`(?m)^([a-z-]+):`)
	testFunc   = regexp.MustCompile(`(?m)^func (Test\w+|Benchmark\w+|Fuzz\w+)\(`)
)

// commandsOf returns the commands that a document shows in code: in blocks, and between backquotes.
func commandsOf(text string) (all [][2]string) {
	add := func(code string) {
		if m := docCommand.FindStringSubmatch(strings.TrimSpace(code)); m != nil {
			all = append(all, [2]string{m[1], strings.TrimSpace(inner.ReplaceAllString(m[2], ""))})
		}
	}
	block := false
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		switch fence := strings.HasPrefix(strings.TrimSpace(line), "```"); {
		case fence:
			block = !block
		case block, strings.HasPrefix(line, "    "):
			add(line)
		default:
			for _, m := range inlineCode.FindAllStringSubmatch(line, -1) {
				add(m[1])
			}
		}
	}
	return all
}

// Every command in the README and in docs exists, with its flags; what it measures is tested where it is built.
func TestTheCommandsInTheDocumentsExist(t *testing.T) {
	const home = "../../../"
	files, err := filepath.Glob(home + "docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	makefile := read(t, home+"Makefile")
	var targets []string
	for _, m := range docTarget.FindAllStringSubmatch(makefile, -1) {
		targets = append(targets, m[1])
	}
	var tests []string
	sources, err := exec.Command("git", "-C", home, "ls-files", "*_test.go").Output()
	if err != nil {
		t.Skip("not a checkout of git")
	}
	for _, f := range strings.Fields(string(sources)) {
		for _, m := range testFunc.FindAllStringSubmatch(read(t, home+f), -1) {
			tests = append(tests, m[1])
		}
	}
	a, seen := &app{setup: setup()}, 0
	for _, file := range append(files, home+"README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range commandsOf(string(text)) {
			words := strings.Fields(c[1])
			if words[0] == "itself" { // a sentence of a report
				continue
			}
			seen++
			bad := func(problem string) { t.Errorf("%s: '%s %s': %s", filepath.Base(file), c[0], c[1], problem) }
			switch c[0] {
			case "make":
				if !slices.Contains(targets, words[0]) {
					bad("no such target")
				}
			case "go test":
				for i, w := range words {
					if dir := strings.TrimSuffix(w, "/..."); strings.HasPrefix(w, "./") && w != "./PACKAGE" {
						if _, err := os.Stat(home + dir); err != nil {
							bad("no such package")
						}
					}
					if i > 0 && (words[i-1] == "-run" || words[i-1] == "-bench") {
						pattern, _, _ := strings.Cut(strings.Trim(w, "'"), "/")
						if pattern == "^$" || pattern == "xxx" { // benchmarks alone
							continue
						}
						for p := range strings.SplitSeq(strings.Trim(pattern, "()"), "|") {
							if re, err := regexp.Compile(p); err != nil || !slices.ContainsFunc(tests, re.MatchString) {
								bad("no test is named like " + p)
							}
						}
					}
				}
			case "zkbench":
				if !slices.ContainsFunc(verbs(), func(v verb) bool { return v.name == words[0] }) {
					bad("no such command")
					continue
				}
				known := a.flagsOf(t.Context(), words[0])
				for _, m := range docFlag.FindAllStringSubmatch(c[1], -1) {
					if !slices.Contains(known, m[1]) {
						bad("no flag " + m[1])
					}
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d commands in the documents, want at least 100", seen)
	}
}
