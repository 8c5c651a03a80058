package profiles

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// sample is a profile in which row f is given as value, with whatever f needs beside it.
func sample(f field, value string) string {
	rows := map[string]string{"workload": "lock", "variants": "naive", "sessions": "1000", f.key: value}
	if f.workloads != nil {
		rows["workload"] = f.workloads[0]
	}
	if f.needs != "" {
		rows[f.needs] = "5"
	}
	var lines strings.Builder
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		lines.WriteString(key + ": " + rows[key] + "\n")
	}
	return lines.String()
}

func TestEveryRowIsComplete(t *testing.T) {
	bound := map[uintptr]string{}
	var p Profile
	for _, f := range fields() {
		if f.doc == "" || !strings.HasSuffix(f.doc, ".") || f.example == "" || f.kind.allowed(f) == "" {
			t.Errorf("%s lacks its doc, its example or what is allowed", f.key)
		}
		at := reflect.ValueOf(f.at(&p)).Pointer()
		if twin := bound[at]; twin != "" {
			t.Errorf("%s and %s are the same field of Profile", f.key, twin)
		}
		bound[at] = f.key
		given, err := Parse("p.yaml", []byte(sample(f, f.example)))
		if err != nil {
			t.Errorf("the example of %s: %v", f.key, err)
		}
		if f.def == "" {
			continue
		}
		said, err := Parse("p.yaml", []byte(sample(f, f.def)))
		if err != nil {
			t.Errorf("the default of %s: %v", f.key, err)
		}
		silent := mustParse(t, least)
		if !f.isDefault(said) || !f.isDefault(silent) || f.key != "drain" && f.key != "warmup" && f.example != f.def && f.isDefault(given) {
			t.Errorf("isDefault of %s: default %v, silent %v, example %v", f.key, f.isDefault(said), f.isDefault(silent), f.isDefault(given))
		}
	}
	exported := 0
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Profile]()) {
		if f.IsExported() {
			exported++
		}
	}
	if len(bound) != exported {
		t.Errorf("%d rows for the %d fields of Profile", len(bound), exported)
	}
}

func TestReference(t *testing.T) {
	var out strings.Builder
	if err := WriteReference(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, "reference.txt", out.String())
}

// TestSchema judges the built-in profiles, and every example, with the JSON Schema; a second, structural reading of it.
func TestSchema(t *testing.T) {
	data, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "schema.json", string(data)+"\n")
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
	all, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		source, err := Source(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		written, err := Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if !valid(string(source)) || !valid(string(written)) {
			t.Errorf("the schema rejects the built-in profile %s", p.Name)
		}
	}
	for _, f := range fields() {
		if text := sample(f, f.example); !valid(text) {
			t.Errorf("the schema rejects\n%s", text)
		}
	}
	for _, text := range []string{
		"sessions: 10", least + "session: 5", least + "locks: 0", least + "locks: many", least + "hold: 5", least + "hold: {normal: 5ms}",
		least + "hold: {uniform: [1ms]}", least + "rate: 5/week", least + "arrivals: uniform", least + "rate: 5\nthink: 1s",
		"workload: queue\nvariants: fifo\nsessions: 10\nlocks: 5", "workload: lock\nvariants: []\nsessions: 10",
		"workload: lock\nvariants: naive\nsessions: [10, 10]", "workload: lock\nvariants: naive",
		"workload: published\nvariants: a\nsessions: 5", "workload: published\nvariants: a\nwarmup: 1s", "workload: published",
		least + "ensemble: local:0", least + "fsync: 1", least + "name: a/b",
	} {
		if valid(text) {
			t.Errorf("the schema takes what Parse rejects:\n%s", text)
		}
		if _, err := Parse("p.yaml", []byte(text)); err == nil {
			t.Errorf("Parse takes\n%s", text)
		}
	}
}
