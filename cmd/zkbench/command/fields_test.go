package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/workloads"
)

const least = "workload: lock\nvariants: naive\nsessions: 10\n"

// samples returns profiles of every workload, one for each of its own fields, with the field's example and default.
func samples(t *testing.T) (all []string) {
	t.Helper()
	for _, w := range setup().Catalogue() {
		begin := "workload: " + w.Name + "\nvariants: x\n"
		if w.Shape != profiles.Played {
			begin += "sessions: 1000\n"
		}
		keys := map[string]bool{}
		for _, f := range w.Fields {
			if f.Doc == "" || !strings.HasSuffix(f.Doc, ".") || f.Example == "" {
				t.Errorf("%s: %s lacks its doc or its example", w.Name, f.Key)
			}
			if keys[f.Key] {
				t.Errorf("%s has two fields %s", w.Name, f.Key)
			}
			keys[f.Key] = true
			for _, value := range []string{f.Example, f.Default} {
				text := begin + f.Key + ": " + value + "\n"
				if w.Name == "multi-lock" && f.Key != "together" {
					text += "together: 1\n"
				} else if w.Name == "multi-lock" {
					text += "locks: 10\n"
				}
				if w.Name == workloads.ReplayName {
					trace := clientsOfALock(2).write(t)
					if text = strings.Replace(strings.Replace(text, "1000", "3", 1), f.Example+"\n", trace+"\n", 1); f.Key != "trace" {
						text = begin[:len(begin)-len("1000\n")] + "3\ntrace: " + trace + "\n" + f.Key + ": " + value + "\n"
					}
				}
				if value != "" {
					all = append(all, text)
				}
			}
		}
		for alias, key := range w.Alias {
			if keys[alias] || !keys[key] && key != "sessions" {
				t.Errorf("%s: alias %s of %s", w.Name, alias, key)
			}
			if key == "objects" {
				all = append(all, begin+alias+": 5\n")
			}
		}
	}
	return append(all, "workload: barrier\nvariants: x\nclients: [5, 10]\n")
}

func TestEveryFieldOfEveryWorkloadIsComplete(t *testing.T) {
	for _, text := range samples(t) {
		if _, err := setup().Catalogue().Parse("p.yaml", []byte(text)); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func TestFieldsOfWorkloads(t *testing.T) {
	const forQueues = "workload: queue\nvariants: fifo\nsessions: 10\n"
	for _, c := range []struct{ sentence, yaml, want string }{
		{"more queues than pairs of sessions", forQueues + "queues: 6\n", "p.yaml:4:9: queues: 6 queues need at least 12 sessions, got 10"},
		{"nothing to take", forQueues + "producers: [50, 0]\n", "p.yaml:4:17: producers: without a producer there is nothing to take (add preload, or a producer)"},
		{"priorities of a queue that has none", forQueues + "priorities: 5\n", "p.yaml:4:1: priorities: not a field of workload queue (only of priority-queue)"},
		{"more locks together than there are", "workload: multi-lock\nvariants: multi\nsessions: 10\nlocks: 4\ntogether: [2, 5]\n",
			"p.yaml:5:15: together: 5 locks at once need at least as many locks, got 4 (raise objects, or acquire fewer)"},
		{"locks together of none", "workload: multi-lock\nvariants: multi\nsessions: 10\n",
			"p.yaml:1:1: together: 2 locks at once need at least as many locks, got 1"},
		{"more locks than sessions", least + "locks: 11\n", "p.yaml:4:8: locks: 11 locks need at least 11 sessions, got 10"},
		{"more groups than pairs", "workload: membership\nvariants: group\nsessions: 4\ngroups: 3\n", "p.yaml:4:9: groups: 3 groups need at least 6 sessions, got 4"},
		{"nobody would wait", "workload: barrier\nvariants: barrier\nclients: 1", "p.yaml:3:10: clients: a barrier needs at least 2 sessions"},
		{"nobody to ask", "workload: revocation\nvariants: revocable\nsessions: 3\nlocks: 2", "p.yaml:3:11: sessions: 2 locks need at least 4 sessions"},
		{"a register of two permits", "workload: semaphore\nvariants: lease\nsessions: 3\npermits: 2\nfence: [none, register]\n",
			"p.yaml:5:15: fence: a register compares tokens, and the holders of 2 permits may write in any order (use server)"},
		{"a load for a workload that has none", "workload: published\nvariants: a\nsessions: 10\n",
			"p.yaml:3:1: sessions: not a field of workload published, which has no load"},
		{"a misspelt workload", "workload: locks\nvariants: a\nsessions: 10\nhold: 5ms\n", `p.yaml:1:11: workload: unknown workload "locks" (did you mean lock?)`},
	} {
		if _, err := setup().Catalogue().Parse("p.yaml", []byte(c.yaml)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.sentence, err, c.want)
		}
	}
}

func TestBuiltinProfiles(t *testing.T) {
	installed := t.TempDir() // what 'make drivers' builds and installs
	for _, name := range []string{"kazoo", "curator", "go-zookeeper", "recipes", "redis", "etcd"} {
		if err := os.WriteFile(filepath.Join(installed, "zkbench-driver-"+name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", installed)
	all, err := setup().Catalogue().Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Description == "" || p.Seed != 7 || p.Ensemble[0] != "local:3" && p.Name != "failover" {
			t.Errorf("built-in profile %s: description %q, seed %d, ensemble %v", p.Name, p.Description, p.Seed, p.Ensemble)
		}
		if err := setup().Check(p); err != nil {
			t.Error(err)
		}
		written, err := profiles.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := setup().Catalogue().Parse("again.yaml", written)
		if err != nil {
			t.Fatalf("%s does not survive Marshal: %v\n%s", p.Name, err, written)
		}
		if twice, err := profiles.Marshal(again); err != nil || !bytes.Equal(written, twice) {
			t.Errorf("%s does not survive Marshal: %v\n%s\n%s", p.Name, err, written, twice)
		}
	}
	p, err := setup().Catalogue().Load("quickstart")
	if err != nil {
		t.Fatal(err)
	}
	if p.Duration != 6*time.Second || len(p.Rate) != 0 || p.At("variants", 1) != "builtin:quickstart.yaml:7:19" {
		t.Errorf("quickstart = %+v, predecessor at %s", p, p.At("variants", 1))
	}
}

// Every field of every workload is in the reference and in the schema, as its workload describes it. Package profiles tests how they are written.
func TestReferenceAndSchemaHaveAllFields(t *testing.T) {
	var reference strings.Builder
	if err := setup().Catalogue().WriteReference(&reference); err != nil {
		t.Fatal(err)
	}
	schema, err := setup().Catalogue().Schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range setup().Catalogue() {
		for _, f := range w.Fields {
			entry := regexp.MustCompile(`(?m)^` + f.Key + `\n    ` + regexp.QuoteMeta(f.Doc) + `\n    Expected: .*\n(.*) Workload: ([a-z, -]*)\..*\n    Example: ` +
				regexp.QuoteMeta(f.Key+": "+f.Example) + `$`).FindStringSubmatch(reference.String())
			def := cmp.Or(f.Default, "none")
			if entry == nil || !slices.Contains(strings.Split(entry[2], ", "), w.Name) || entry[1] != "    Default: "+def+"." && entry[1] != "    Required." {
				t.Errorf("the reference has no %s of %s with its doc, default %s and example: %q", f.Key, w.Name, def, entry)
			}
			if doc, _ := json.Marshal(f.Doc); !bytes.Contains(schema, bytes.Trim(doc, `"`)) {
				t.Errorf("the schema has no %s of %s with its doc", f.Key, w.Name)
			}
		}
	}
}

// TestSchema checks the built-in profiles and every example with the JSON Schema, as a second, structural check of it.
func TestSchema(t *testing.T) {
	t.Parallel()
	data, err := setup().Catalogue().Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	valid := func(text string) bool {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		asJSON, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(asJSON, &v); err != nil {
			t.Fatal(err)
		}
		return satisfies(t, schema, v)
	}
	all, err := setup().Catalogue().Builtin()
	if err != nil {
		t.Fatal(err)
	}
	texts := samples(t)
	for _, p := range all {
		source, err := profiles.Source(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		written, err := profiles.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(source), string(written))
	}
	for _, text := range texts {
		if !valid(text) {
			t.Errorf("the schema rejects\n%s", text)
		}
	}
	for _, text := range []string{
		"sessions: 10", least + "session: 5", least + "locks: 0", least + "locks: many", least + "hold: 5", least + "hold: {normal: 5ms}",
		least + "hold: {uniform: [1ms]}", least + "rate: 5/week", least + "arrivals: uniform", least + "rate: 5\nthink: 1s", least + "locks: 1\nobjects: 1",
		"workload: queue\nvariants: fifo\nsessions: 10\nlocks: 5", "workload: lock\nvariants: []\nsessions: 10", "workload: locks\nvariants: a\nsessions: 1",
		"workload: lock\nvariants: naive\nsessions: [10, 10]", "workload: lock\nvariants: naive", "workload: double-barrier\nvariants: a\nclients: 5\nduration: 1s",
		"workload: published\nvariants: a\nsessions: 5", "workload: published\nvariants: a\nwarmup: 1s", "workload: published",
		least + "ensemble: local:0", least + "fsync: 1", least + "name: a/b",
	} {
		if valid(text) {
			t.Errorf("the schema takes what Parse rejects:\n%s", text)
		}
		if _, err := setup().Catalogue().Parse("p.yaml", []byte(text)); err == nil {
			t.Errorf("Parse takes\n%s", text)
		}
	}
	if !slices.Contains(texts, "workload: barrier\nvariants: x\nclients: [5, 10]\n") {
		t.Error("no sample has an alias of a common field")
	}
}
