package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// fenced returns the blocks of code of a document, by language.
func fenced(t *testing.T, path string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string][]string{}
	for _, found := range regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks[found[1]] = append(blocks[found[1]], found[2])
	}
	return blocks
}

// scripts returns the shell commands of a pipeline: the values of run and script, at any depth.
func scripts(n *yaml.Node, inScript bool) (all []string) {
	if n.Kind == yaml.ScalarNode && inScript {
		return []string{n.Value}
	}
	for i, inner := range n.Content {
		script := inScript
		if n.Kind == yaml.MappingNode {
			key := n.Content[i-i%2].Value
			script = i%2 == 1 && (key == "run" || key == "script")
		}
		all = append(all, scripts(inner, script)...)
	}
	return all
}

// examples returns the profile of docs/ci.md, and the commands of each of its pipelines and shell examples and of the project's own pipeline.
func examples(t *testing.T) (profile string, pipelines [][]string) {
	t.Helper()
	blocks := fenced(t, "../../../docs/ci.md")
	own, err := os.ReadFile("../../../.github/workflows/ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append(blocks["yaml"], string(own)) {
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Errorf("%v in\n%s", err, text)
			continue
		}
		if strings.Contains(text, "workload:") {
			profile = text
			continue
		}
		pipelines = append(pipelines, scripts(&doc, false))
	}
	for _, text := range blocks["groovy"] {
		var commands []string
		for _, found := range regexp.MustCompile(`sh '([^']*)'`).FindAllStringSubmatch(text, -1) {
			commands = append(commands, found[1])
		}
		pipelines = append(pipelines, commands)
	}
	for _, text := range blocks["sh"] {
		pipelines = append(pipelines, strings.Split(strings.TrimSpace(text), "\n"))
	}
	return profile, pipelines
}

// What the project's own pipelines make are targets of the Makefile.
func TestPipelinesMakeTargets(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob("../../../.github/workflows/*.yml")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc yaml.Node
		if err := yaml.Unmarshal(text, &doc); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		made := 0
		for _, command := range scripts(&doc, false) {
			_, targets, makes := strings.Cut(" "+command, " make ")
			if !makes {
				continue
			}
			for _, target := range strings.Fields(targets) {
				if !strings.Contains(target, "=") && !strings.Contains("\n"+string(makefile), "\n"+target+":") {
					t.Errorf("%s: %q makes %s, which is no target", file, command, target)
				}
				made++
			}
		}
		if made == 0 {
			t.Errorf("%s makes nothing", file)
		}
	}
	if len(files) != 2 {
		t.Errorf("pipelines are %v, want that of changes and that of releases", files)
	}
}

// zkbenchInExamples defines zkbench in the shell of an example: on running servers, for a moment, in one pair. It records how each command ended.
const zkbenchInExamples = `
zkbench() {
	local moment=(--set duration=300ms --set warmup=100ms) verb=$1 code=0 all=()
	for arg in "$@"; do case $arg in *:2181) arg=$SERVERS;; esac; all+=("$arg"); done
	case $verb in
	run) all+=(--servers "$SERVERS" "${moment[@]}");;
	ab) all+=(--pairs 1 --quiet "${moment[@]/--set/--a-set}" "${moment[@]/--set/--b-set}"); [[ " ${all[*]} " = *-servers* ]] || all+=(--servers "$SERVERS");;
	esac
	"$ZKBENCH" "${all[@]}" || code=$?
	echo "$verb $code" >>"$CODES"
}
`

// Every example of docs/ci.md is carried out as written, on the servers of this test instead of those of a service, and shortened: what a gate or a
// comparison says about a moment does not matter, but nothing is refused and nothing fails. Commands of the service itself are only parsed.
func TestTheExamplesOfCI(t *testing.T) {
	tier.Long(t, "every pipeline of docs/ci.md; TestRunsTellTheServiceOfCI has one of them")
	t.Parallel()
	address := servers.Get(t, 1).Addresses()[0]
	profile, pipelines := examples(t)
	if profile == "" || len(pipelines) < 7 {
		t.Fatalf("%d pipelines, want 7 at least, and the profile %q", len(pipelines), profile)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	verbs := map[string]int{}
	for _, commands := range pipelines {
		dir := t.TempDir()
		write := func(name, text string) {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		write("load/locks.yaml", profile)
		write("codes", "")
		if len(commands) == 0 {
			t.Error("a pipeline without commands")
		}
		for _, command := range commands {
			if out, err := exec.Command("bash", "-n", "-c", command).CombinedOutput(); err != nil {
				t.Errorf("%s: %v: %s", command, err, out)
			}
			if targets, make := strings.CutPrefix(command, "make "); make {
				if out, err := exec.Command("make", append([]string{"-C", "../../..", "-n"}, strings.Fields(targets)...)...).CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", command, err, out)
				}
			}
			if !strings.Contains(command, "zkbench ") || strings.Contains(command, "git clone") {
				continue
			}
			if strings.Contains(command, "results/baseline") || strings.Contains(command, "results/main") {
				earlier(t, dir, "results/new", "results/baseline", "results/main")
			}
			shell := exec.Command("bash", "-c", zkbenchInExamples+command)
			shell.Dir = dir
			shell.Env = append(os.Environ(), childEnv+"=examples", "ZKBENCH="+self, "SERVERS="+address, "CODES="+filepath.Join(dir, "codes"), "BUILD_NUMBER=1",
				"GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"))
			out, err := shell.CombinedOutput()
			codes, _ := os.ReadFile(filepath.Join(dir, "codes"))
			write("codes", "")
			if err != nil || len(codes) == 0 {
				t.Errorf("%s: %v\n%s", command, err, out)
			}
			for line := range strings.Lines(string(codes)) {
				verb, code, _ := strings.Cut(strings.TrimSpace(line), " ")
				verbs[verb]++
				if code != "0" && (verb == "validate" || code != "3" && code != "5") {
					t.Errorf("%s: exit code %s\n%s", command, code, out)
				}
			}
			if strings.Contains(command, "--junit junit.xml") {
				wantIn(t, map[string]string{filepath.Join(dir, "junit.xml"): "<testcase "})
			}
		}
	}
	for verb, least := range map[string]int{"run": 10, "validate": 1, "ab": 2, "compare": 1, "trend": 1} {
		if verbs[verb] < least {
			t.Errorf("zkbench %s was carried out %d times, want %d at least", verb, verbs[verb], least)
		}
	}
}

// earlier copies the runs of a directory to others, each another hour earlier, as if the jobs of a main branch had left them.
func earlier(t *testing.T, dir, from string, to ...string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, from, "*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no runs in %s: %v", from, err)
	}
	for i, target := range to {
		for _, path := range found {
			run, err := results.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			run.Started = run.Started.Add(-time.Duration(i+1) * time.Hour)
			copied := filepath.Join(dir, target, filepath.Base(path))
			if _, err := os.Stat(copied); err == nil {
				continue
			}
			d, err := results.Create(copied, nil)
			if err == nil {
				err = errors.Join(d.Write(run), d.Close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A run reports its gates and checks to a CI service, each with its line of the profile.
func TestRunsTellTheServiceOfCI(t *testing.T) {
	address := servers.Get(t, 1).Addresses()[0]
	dir := t.TempDir()
	summary, junit := filepath.Join(dir, "summary.md"), filepath.Join(dir, "junit.xml")
	t.Setenv("GITHUB_STEP_SUMMARY", summary)
	t.Setenv("GITHUB_WORKSPACE", dir)
	path := filepath.Join(dir, "mine.yaml")
	text := `workload: lock
variants: [predecessor]
sessions: 4
hold: 1ms
warmup: 100ms
duration: 700ms
session_timeout: 4s
gates:
  - "errors < 99%"
  - "writes < 1"
  - "p99.9(acquire.service) < 1h"
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	o := zkbench(t, "run", path, "--servers", address, "--out", out(t), "--junit", junit, "--ci", "github", "--gate", "reads <= 0.5", "--quiet")
	o.want(exitRegression, "::error file=mine.yaml,line=10,col=5,title=zkbench%3A writes < 1::missed: writes < 1: predecessor with 4 sessions: ",
		"::error file=mine.yaml,line=11,col=5,title=zkbench%3A p99.9(acquire.service) < 1h::not enough evidence: ", "::error title=zkbench%3A reads <= 0.5::missed",
		"Gates: 2 missed, 1 not enough evidence, 1 met", "gate missed: writes < 1")
	if strings.Contains(o.stdout, "title=zkbench%3A errors") {
		t.Errorf("a gate that is met is annotated:\n%s", o.stdout)
	}
	for file, want := range map[string][]string{
		summary: {"| `writes < 1`", "MISSED", "| predecessor |"},
		junit:   {`name="writes &lt; 1"`, `<failure message="missed: writes`, `<error message="not enough evidence`, `name="mutual-exclusion"`, `failures="2"`},
	} {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(string(got), text) {
				t.Errorf("%s lacks %q:\n%s", filepath.Base(file), text, got)
			}
		}
	}
	// a run that cannot start is a failed test, and not an earlier result
	other := session(t, address)
	if _, err := other.Create(t.Context(), "/taken", nil, zk.Persistent); err != nil {
		t.Fatal(err)
	}
	defer other.Delete(t.Context(), "/taken", zk.AnyVersion)
	zkbench(t, "run", path, "--servers", address, "--out", out(t), "--junit", junit, "--root", "/taken", "--quiet").want(exitFailed, "/taken")
	if got, err := os.ReadFile(junit); err != nil || !strings.Contains(string(got), `errors="1"`) || strings.Contains(string(got), "writes") {
		t.Errorf("after a run that did not begin: %v\n%s", err, got)
	}
}
