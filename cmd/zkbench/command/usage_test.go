package command

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/scenarios/published"
)

// Mistakes that are found before anything is started: exit code 2, and a message that names the place and what is expected.
func TestMistakes(t *testing.T) {
	yaml := func(text string) string { return file(t, "p.yaml", text) }
	for _, test := range []struct {
		about string
		args  []string
		says  []string
	}{
		{"no command", nil, []string{"Usage: zkbench COMMAND"}},
		{"an unknown command", []string{"rnu"}, []string{`unknown command "rnu", did you mean run?`}},
		{"an unknown command like none", []string{"xyzzy"}, []string{`unknown command "xyzzy"`, "zkbench help"}},
		{"an unknown flag", []string{"run", "quickstart", "--server", "a:1"}, []string{"unknown flag: --server, did you mean --servers?"}},
		{"an argument of a command that takes none", []string{"schema", "foo"}, []string{`unexpected argument "foo"`}},
		{"a list without brackets", []string{"validate", "locks", "--set", "variants=naive,predecessor"}, []string{"did you mean [naive, predecessor]?"}},
		{"a variant with its workload", []string{"validate", "locks", "--set", "variants=lock/naive"}, []string{"did you mean naive?"}},
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
		{"a former name", []string{"run", yaml("workload: lock\nvariants: [naive, article-000-writelock]\nsessions: 1\n")},
			[]string{`p.yaml:2:19: variant "article-000-writelock" is now called "zookeeper-writelock"`}},
		{"a former name of a recipe that is only played", []string{"run", "published", "--set", "variants=[article-001-two-phase-commit]"},
			[]string{`variant "article-001-two-phase-commit" is now called "recipe-page-two-phase-commit"`}},
		{"the list of a former name", []string{"list", "article-004-dzone"}, []string{`variant "article-004-dzone" is now called "dzone-lock"`}},
		{"an unknown workload", []string{"run", yaml("workload: lok\nvariants: naive\nsessions: 1\n")}, []string{"p.yaml:1:11", `unknown workload "lok"`, "lock"}},
		{"an unknown engine", []string{"run", "quickstart", "--engine", "java"}, []string{"--set engine", `unknown engine "java"`, "native, go-zookeeper"}},
		{"no session", []string{"run", yaml("workload: lock\nvariants: naive\nsessions: 0\n")}, []string{"p.yaml:3:11", "sessions", "0 is too small", "from 1 to"}},
		{"fewer than none", []string{"run", "quickstart", "--set", "sessions=-5"}, []string{"--set sessions", "-5 is too small", "from 1 to"}},
		{"a list with a zero", []string{"run", yaml("workload: lock\nvariants: naive\nsessions: [1, 0]\n")}, []string{"p.yaml:3:15"}},
		{"an ensemble of two", []string{"run", "quickstart", "--ensemble", "local:2"}, []string{`"2" is not a number of servers`, "1, 3, 5 or 7"}},
		{"servers and an ensemble", []string{"run", "quickstart", "--servers", "a:1", "--ensemble", "local:3"}, []string{"--servers and --ensemble", "remove one"}},
		{"a service that is none", []string{"run", "quickstart", "--servers", "127.0.0.1:1", "--ci", "gitlab"}, []string{`--ci: unknown service "gitlab"`, "expected github"}},
		{"test results nowhere", []string{"run", "quickstart", "--servers", "127.0.0.1:1", "--junit", "none/junit.xml"}, []string{"--junit", "none/junit.xml", "no such file"}},
		{"a gate of nothing", []string{"run", "quickstart", "--gate", "p99(put) < 5ms"}, []string{"--gate: gate", "unknown metric p99(put.response) of workload lock", "throughput"}},
		{"a gate on the response of a closed loop", []string{"run", "quickstart", "--gate", "p99(acquire) < 5ms"}, []string{"--gate: gate", "in a closed loop", "acquire.service"}},
		{"a gate on what is not measured", []string{"run", "semaphores", "--gate", "p99(hand-off) < 5ms"}, []string{"unknown metric p99(hand-off.service) of workload semaphore"}},
		{"a gate that cannot fail", []string{"run", "quickstart", "--gate", "errors >= 0"}, []string{"every value meets it"}},
		{"given servers that are not given", []string{"run", "quickstart", "--set", "ensemble=given"}, []string{"name them with --servers", "--ensemble local:3"}},
		{"a server without a host", []string{"run", "quickstart", "--servers", ":2181"}, []string{`":2181"`, "no host"}},
		{"a port that is none", []string{"run", "quickstart", "--servers", "a:1,b:99999"}, []string{`"b:99999"`, "65535"}},
		{"a root that is no path", []string{"run", "quickstart", "--root", "mine"}, []string{`--root "mine"`, "absolute path", "/zkbench/mine"}},
		{"a root of everything", []string{"run", "quickstart", "--root", "/"}, []string{`--root "/"`}},
		{"a root with a slash too many", []string{"run", "quickstart", "--root", "/a/"}, []string{`--root "/a/"`}},
		{"a list of the unknown", []string{"list", "quikstart"}, []string{`unknown name "quikstart", did you mean quickstart?`, "recipes, workloads, profiles"}},
		{"clean without servers", []string{"clean"}, []string{"clean needs --servers"}},
		{"clean of servers that are to be started", []string{"clean", "--servers", "local:1"}, []string{"addresses of running servers", "not local:1"}},
		{"up with no server", []string{"up", "-n", "0"}, []string{"0 servers", "1, 3, 5 or 7"}},
		{"up with an argument", []string{"up", "3"}, []string{"up takes no arguments"}},
		{"up with two servers", []string{"up", "-n", "2"}, []string{"2 servers", "1, 3, 5 or 7"}},
		{"down with an argument", []string{"down", "3"}, []string{"down takes no arguments"}},
		{"a comparison of nothing", []string{"ab"}, []string{"ab needs --a", "zkbench list profiles"}},
		{"a comparison with nothing", []string{"ab", "--a", "quickstart"}, []string{"ab needs --b"}},
		{"a comparison of profiles without flags", []string{"ab", "quickstart", "locks"}, []string{`unexpected argument "quickstart"`, "--a and --b"}},
		{"a comparison with a set that is wrong", []string{"ab", "--a", "quickstart", "--b", "quickstart", "--b-set", "sessions=0"}, []string{"--set sessions", "0 is too small"}},
		{"sides with different numbers of cells", []string{"ab", "--a", "quickstart", "--b", "locks"}, []string{"--a has 6 cells and --b has 20"}},
		{"a comparison of scenarios", []string{"ab", "--a", "published", "--b", "published"}, []string{"workload published has no cells"}},
		{"an unknown metric", []string{"ab", "--a", "quickstart", "--b", "quickstart", "--metric", "speed"}, []string{`--metric: metric "speed": unknown name`}},
		{"a metric of another workload", []string{"ab", "--a", "quickstart", "--b", "quickstart", "--metric", "p50(put)"},
			[]string{"--metric p50(put.response): --a quickstart: unknown metric", "expected one of throughput", "acquire.response"}},
		{"no pairs", []string{"ab", "--a", "quickstart", "--b", "quickstart", "--pairs", "0"}, []string{"--pairs 0: expected 1 to 1000"}},
		{"a look after the end", []string{"ab", "--a", "quickstart", "--b", "quickstart", "--looks", "7,10"}, []string{"--looks 10", "ascending", "below --pairs 10"}},
		{"no effect", []string{"ab", "--a", "quickstart", "--b", "quickstart", "--min-effect", "0"}, []string{`--min-effect "0"`, "such as 5%"}},
		{"an effect of five hundred percent", []string{"ab", "--a", "quickstart", "--b", "quickstart", "--min-effect", "5"}, []string{`--min-effect "5"`}},
		{"servers of a side without a host", []string{"ab", "--a", "quickstart", "--b", "quickstart", "--b-servers", ":2181"}, []string{"no host"}},
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

// catalogue lists the names that users may rely on.
const catalogue = `single-node naive predecessor reentrant persistent go-zookeeper multi read-write revocable lease index fifo priority rendezvous claim
delay barrier double-barrier selector flat coordinator zookeeper-writelock zookeeper-leader-election-support exists-on-parent
recipe-page-two-phase-commit zkclient-lock dzone-lock`

func TestList(t *testing.T) {
	t.Parallel()
	list := func(args ...string) ending {
		user := newTerminal(t)
		user.setup = setup()
		return user.run(append([]string{"list"}, args...)...)
	}
	o := list().want(exitOK, "RECIPES", "WORKLOADS", "PROFILES", "quickstart")
	said := strings.Join(strings.Fields(o.stdout), " ")
	for line := range strings.Lines(o.stdout) {
		if n := utf8.RuneCountInString(line) - 1; n > listWidth && !strings.Contains(line, "zkbench run ") { // a command is copied unchanged
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	for _, v := range lock.Variants() {
		if !strings.Contains(o.stdout, "lock/"+v.Name) || !strings.Contains(said, v.Doc) {
			t.Errorf("list does not tell of %s", v.Name)
		}
	}
	variants := published.Variants()
	for _, k := range setup().Workloads {
		for _, v := range k.Variants {
			variants = append(variants, v.Name)
		}
	}
	for _, name := range append(variants, strings.Fields(catalogue)...) {
		if !strings.Contains(o.stdout, "/"+name+"\n") {
			t.Errorf("list does not tell of %s, which a profile can name", name)
		}
	}
	for _, name := range published.Variants() {
		if !strings.Contains(said, "UNSAFE, kept as it was published; to see its defects: zkbench run published --set variants=["+name+"]") {
			t.Errorf("list does not tell that %s is unsafe", name)
		}
	}
	if strings.Contains(o.stdout, "broken") {
		t.Error("list tells of the broken locks of the tests")
	}
	for what, other := range map[string]string{"recipes": "quickstart", "workloads": "lock/naive", "profiles": "lock/naive", "fields": "lock/naive",
		"queues": "lock/naive", "quickstart": "lock/naive", "naive": "lock/predecessor"} {
		if o := list(what).want(exitOK); strings.Contains(o.stdout, other) || o.stdout == "" {
			t.Errorf("list %s prints\n%s", what, o.stdout)
		}
	}
	list("locks").want(exitOK, "lock/predecessor\n", "# Profile locks: 20 cells, about ", "sessions: [10, 30, 100, 300, 1000]")
	list("profiles").want(exitOK, "6 cells, about 1 m", "12 cells, until all is done", "played, until all is done")
	mine := file(t, "mine.yaml", list("quickstart").stdout) // what it shows can be copied
	zkbench(t, "validate", mine).want(exitOK, mine+": valid: 6 cells, about 1 m")
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
	all := zkbench(t, "help").want(exitOK, "Exit codes: 0 success, 1 could not run, 2 usage", "4 safety violated", "130 interrupted")
	for _, same := range []string{"--help", "-h"} {
		if o := zkbench(t, same).want(exitOK); o.stdout != all.stdout {
			t.Errorf("%s differs from help", same)
		}
	}
	for _, v := range verbs() {
		if !strings.Contains(all.stdout, v.name+" ") {
			t.Errorf("help does not name %s", v.name)
		}
		o := zkbench(t, v.name, "--help").want(exitOK, "Usage: zkbench "+v.name)
		if o.stderr != "" {
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
