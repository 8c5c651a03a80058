package profiles

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// sample returns a profile of a workload in which field f is given as value, together with whatever f needs.
func sample(w *Workload, f Field, value string) string {
	rows := map[string]string{"workload": w.Name, "variants": "naive", "sessions": "1000"}
	if w.Shape == Played {
		delete(rows, "sessions")
	}
	if f.Key != "workload" {
		rows[f.Key] = value
	}
	if f.Needs != "" {
		rows[strings.Split(f.Needs, "|")[0]] = "5"
	}
	var lines strings.Builder
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		lines.WriteString(key + ": " + rows[key] + "\n")
	}
	return lines.String()
}

func TestEveryFieldIsComplete(t *testing.T) {
	bound := map[uintptr]string{}
	var p Profile
	for _, f := range append(head(), tail()...) {
		at := reflect.ValueOf(f.at(&p)).Pointer()
		if twin := bound[at]; twin != "" {
			t.Errorf("%s and %s are the same field of Profile", f.Key, twin)
		}
		bound[at] = f.Key
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
	for _, w := range catalogue {
		for _, f := range w.table() {
			if f.Doc == "" || !strings.HasSuffix(f.Doc, ".") || f.Example == "" || f.Type.allowed(f) == "" {
				t.Errorf("%s lacks its doc, its example or what is allowed", f.Key)
			}
			if f.Key == "variants" || f.Key == "workload" {
				continue
			}
			given, err := catalogue.Parse("p.yaml", []byte(sample(w, f, f.Example)))
			if err != nil {
				t.Errorf("the example of %s: %v", f.Key, err)
			}
			if f.Default == "" {
				continue
			}
			said, err := catalogue.Parse("p.yaml", []byte(sample(w, f, f.Default)))
			if err != nil {
				t.Errorf("the default of %s: %v", f.Key, err)
			}
			if !f.isDefault(said) || f.Key != "drain" && f.Key != "warmup" && f.Example != f.Default && f.isDefault(given) {
				t.Errorf("isDefault of %s: default %v, example %v", f.Key, f.isDefault(said), f.isDefault(given))
			}
		}
	}
}
