package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
)

// What is wrong before anything is started: exit code 2, and a message that names the place and what would be right.
func TestMistakes(t *testing.T) {
	yaml := func(text string) string { return file(t, "p.yaml", text) }
	for _, test := range []struct {
		about string
		args  []string
		says  []string
	}{
		{"no command", nil, []string{"Usage: zkbench COMMAND"}},
		{"an unknown command", []string{"rnu"}, []string{`unknown command "rnu"`, "zkbench help"}},
		{"no profile", []string{"run"}, []string{"run takes one profile", "zkbench list profiles"}},
		{"two profiles", []string{"run", "a", "b"}, []string{"run takes one profile"}},
		{"an unknown flag", []string{"run", "quickstart", "--fast"}, []string{"unknown flag: --fast"}},
		{"no such profile", []string{"run", "quickstrat"}, []string{`"quickstrat"`, "did you mean quickstart?", "locks"}},
		{"no such file", []string{"run", "./nothing.yaml"}, []string{"read profile", "nothing.yaml", "no such file"}},
		{"broken YAML", []string{"run", yaml("workload: [lock\n")}, []string{"p.yaml:", "1"}},
		{"no YAML of a profile", []string{"run", yaml("- lock\n")}, []string{"p.yaml:1:1"}},
		{"an unknown key", []string{"run", yaml("workload: lock\nvariants: naive\nsessions: 1\nhodl: 1ms\n")}, []string{"p.yaml:4:1", "hodl", "hold"}},
		{"an unknown variant", []string{"run", yaml("workload: lock\nvariants: [naive, predecesor]\nsessions: 1\n")},
			[]string{"p.yaml:2:19", `unknown lock variant "predecesor"`, `did you mean "predecessor"?`, "single-node, naive, predecessor"}},
		{"an unknown workload", []string{"run", yaml("workload: lok\nvariants: naive\nsessions: 1\n")}, []string{"p.yaml:1:11", `unknown workload "lok"`, "lock"}},
		{"an unknown engine", []string{"run", "quickstart", "--engine", "java"}, []string{"--set engine", `unknown engine "java"`, "native, go-zookeeper"}},
		{"no session", []string{"run", yaml("workload: lock\nvariants: naive\nsessions: 0\n")}, []string{"p.yaml:3:11", "sessions", "0 is too small", "from 1 to"}},
		{"fewer than none", []string{"run", "quickstart", "--set", "sessions=-5"}, []string{"--set sessions", "-5 is too small", "from 1 to"}},
		{"a list with a zero", []string{"run", yaml("workload: lock\nvariants: naive\nsessions: [1, 0]\n")}, []string{"p.yaml:3:15"}},
		{"an ensemble of two", []string{"run", "quickstart", "--ensemble", "local:2"}, []string{`"2" is not a number of servers`, "1, 3, 5 or 7"}},
		{"a server without a host", []string{"run", "quickstart", "--servers", ":2181"}, []string{`":2181"`, "the host is missing"}},
		{"a port that is none", []string{"run", "quickstart", "--servers", "a:1,b:99999"}, []string{`"b:99999"`, "65535"}},
		{"a root that is no path", []string{"run", "quickstart", "--root", "mine"}, []string{`--root "mine"`, "absolute path", "/zkbench/mine"}},
		{"a root of everything", []string{"run", "quickstart", "--root", "/"}, []string{`--root "/"`}},
		{"a root with a slash too many", []string{"run", "quickstart", "--root", "/a/"}, []string{`--root "/a/"`}},
		{"a list of the unknown", []string{"list", "locks"}, []string{`cannot list "locks"`, "recipes, workloads, profiles"}},
		{"clean without servers", []string{"clean"}, []string{"clean needs --servers"}},
		{"clean of servers that are to be started", []string{"clean", "--servers", "local:1"}, []string{"addresses of running servers", "not local:1"}},
		{"up with no server", []string{"up", "-n", "0"}, []string{"0 servers", "1, 3, 5 or 7"}},
		{"up with an argument", []string{"up", "3"}, []string{"up takes no arguments"}},
		{"up with two servers", []string{"up", "-n", "2"}, []string{"2 servers", "1, 3, 5 or 7"}},
		{"down with an argument", []string{"down", "3"}, []string{"down takes no arguments"}},
		{"validate without a profile", []string{"validate"}, []string{"validate needs the profiles"}},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Chdir(t.TempDir())
			o := newTerminal(t).run(test.args...)
			o.t = t
			o.want(exitUsage, test.says...)
			if o.stdout != "" {
				t.Errorf("standard output has %q, want nothing", o.stdout)
			}
			wantMissing(t, "results")
		})
	}
}

func TestValidateTellsAllFaultsOfAllProfiles(t *testing.T) {
	bad := file(t, "bad.yaml", "workload: lock\nvariants: [naive, nope]\nsessions: 0\nhold: 5\nhold: 6ms\nseed: x\n")
	good := small(t)
	o := zkbench(t, "validate", bad, good, "quickstart").want(exitUsage, "bad.yaml:3:11", "bad.yaml:4:7", "bad.yaml:5:1", "bad.yaml:6:7",
		"5 has no unit", good+": valid", "quickstart: valid")
	if strings.Contains(o.stdout, "bad.yaml") {
		t.Errorf("faults are on standard output:\n%s", o.stdout)
	}
	zkbench(t, "validate", good, "--set", "hold=1m").want(exitOK, "valid")
	zkbench(t, "validate", good, "--set", "hold=1", "--set", "sed=2").want(exitUsage, "--set hold", "1 has no unit", "sed", "seed")
}

// catalogue is the names that users may rely on.
const catalogue = `single-node naive predecessor reentrant persistent go-zookeeper multi read-write revocable lease index fifo priority rendezvous claim
delay barrier double-barrier selector flat coordinator article-000-writelock article-000-election article-001-exists-parent
article-001-two-phase-commit article-003-zklockimpl article-004-dzone`

func TestList(t *testing.T) {
	o := zkbench(t, "list").want(exitOK, "RECIPES", "WORKLOADS", "PROFILES", "quickstart")
	for _, v := range recipes.Locks {
		if !strings.Contains(o.stdout, "lock/"+v.Name) || !strings.Contains(o.stdout, v.Doc) {
			t.Errorf("list does not tell of %s", v.Name)
		}
	}
	variants := scenarios.Variants()
	for _, k := range setup().Workloads {
		variants = append(variants, k.Variants()...)
	}
	for _, name := range variants {
		if !strings.Contains(o.stdout, "/"+name+" ") {
			t.Errorf("list does not tell of %s, which a profile can name", name)
		}
	}
	for _, name := range scenarios.Variants() {
		if !strings.Contains(o.stdout, "UNSAFE, kept as it was published; its faults: zkbench run published --set variants=["+name+"]") {
			t.Errorf("list does not tell that %s is unsafe", name)
		}
	}
	if strings.Contains(o.stdout, "broken") {
		t.Error("list tells of the broken locks of the tests")
	}
	for name := range strings.FieldsSeq(catalogue) {
		if !strings.Contains(o.stdout, "/"+name+" ") {
			t.Errorf("list does not tell of %s, which the catalogue of recipes has", name)
		}
	}
	for what, other := range map[string]string{"recipes": "quickstart", "workloads": "lock/naive", "profiles": "lock/naive"} {
		if o := zkbench(t, "list", what).want(exitOK); strings.Contains(o.stdout, other) || o.stdout == "" {
			t.Errorf("list %s prints\n%s", what, o.stdout)
		}
	}
}

func TestSchemaIsJSON(t *testing.T) {
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal([]byte(zkbench(t, "schema").want(exitOK).stdout), &schema); err != nil || schema.Properties["sessions"] == nil {
		t.Errorf("schema: %v, want a JSON Schema with sessions", err)
	}
}

func TestHelpAndVersion(t *testing.T) {
	all := zkbench(t, "help").want(exitOK, "Exit codes: 0 fine, 1 could not run, 2 usage", "4 safety violated", "130 interrupted")
	for _, same := range []string{"--help", "-h"} {
		if o := zkbench(t, same).want(exitOK); o.stdout != all.stdout {
			t.Errorf("%s differs from help", same)
		}
	}
	for _, v := range verbs {
		if !strings.Contains(all.stdout, v.name+" ") {
			t.Errorf("help does not name %s", v.name)
		}
		o := zkbench(t, v.name, "--help").want(exitOK, "Usage: zkbench "+v.name)
		if o.stderr != "" || strings.Contains(o.stdout, "exit code") {
			t.Errorf("%s --help prints to standard error: %q", v.name, o.stderr)
		}
		if again := zkbench(t, "help", v.name).want(exitOK); again.stdout != o.stdout {
			t.Errorf("help %s differs from %s --help", v.name, v.name)
		}
	}
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if o := zkbench(t, args...).want(exitOK); !strings.HasPrefix(o.stdout, "zkbench ") {
			t.Errorf("%v prints %q", args, o.stdout)
		}
	}
}
