package profiles

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// object is a JSON object; encoding/json writes its keys in order.
type object map[string]any

// Schema is the JSON Schema (draft 2020-12) of a profile, for editors. It says all that one field, and one field beside
// another, must be; the range of durations and the count of locks only Parse judges.
func Schema() ([]byte, error) {
	properties := object{}
	var together []any
	var always []string // required keys, whatever the workload
	for _, f := range fields() {
		properties[f.key] = f.property()
		if f.alias != "" {
			properties[f.alias] = f.property()
			together = append(together, object{
				"if":   object{"required": []string{f.alias}},
				"then": object{"properties": object{"workload": object{"enum": f.aliased}}},
			}, object{"not": object{"required": []string{f.key, f.alias}}})
		}
		if f.excludes != "" {
			together = append(together, object{"not": object{"required": []string{f.key, f.excludes}}})
		}
		if f.needs != "" {
			together = append(together, object{"dependentRequired": object{f.key: []string{f.needs}}})
		}
		if f.must && f.unlike == nil {
			always = append(always, f.key)
		}
		if f.unlike != nil {
			rule := object{
				"if":   object{"properties": object{"workload": object{"enum": f.unlike}}, "required": []string{"workload"}},
				"then": object{"not": object{"required": []string{f.key}}},
			}
			switch {
			case f.must && f.alias != "":
				rule["else"] = object{"anyOf": []any{object{"required": []string{f.key}}, object{"required": []string{f.alias}}}}
			case f.must:
				rule["else"] = object{"required": []string{f.key}}
			}
			together = append(together, rule)
		}
		if f.workloads != nil {
			together = append(together, object{
				"if":   object{"required": []string{f.key}},
				"then": object{"properties": object{"workload": object{"enum": f.workloads}}},
			})
		}
	}
	return json.MarshalIndent(object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "zkbench profile",
		"description":          "One run of zkbench: what each session does, how many there are, and for how long.",
		"type":                 "object",
		"additionalProperties": false,
		"required":             always,
		"properties":           properties,
		"allOf":                together,
	}, "", "  ")
}

// property is the schema of the field's value.
func (f field) property() object {
	s := f.kind.schema(f)
	if f.axis {
		s = object{"anyOf": []any{s, object{"type": "array", "items": s, "minItems": 1, "uniqueItems": true}}}
	}
	s["description"] = f.doc + " Allowed: " + f.kind.allowed(f) + "."
	for keyword, text := range map[string]string{"default": f.def, "examples": "[" + f.example + "]"} {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err == nil && value != nil {
			s[keyword] = value
		}
	}
	return s
}

// WriteReference writes what every key of a profile is, for a terminal.
func WriteReference(w io.Writer) error {
	var out strings.Builder
	for _, f := range fields() {
		list := ""
		if f.axis {
			list = ", or a list of them: one cell for each"
		}
		fmt.Fprintf(&out, "%s\n    %s\n    Allowed: %s%s.\n", f.key, f.doc, f.kind.allowed(f), list)
		switch {
		case f.must:
			fmt.Fprint(&out, "    Required.")
		case f.def != "":
			fmt.Fprintf(&out, "    Default: %s.", f.def)
		default:
			fmt.Fprint(&out, "    Default: none.")
		}
		if f.workloads != nil {
			fmt.Fprintf(&out, " Workload: %s.", strings.Join(f.workloads, ", "))
		}
		if f.unlike != nil {
			fmt.Fprintf(&out, " Not of the workload: %s.", strings.Join(f.unlike, ", "))
		}
		if f.needs != "" {
			fmt.Fprintf(&out, " Only beside %s.", f.needs)
		}
		if f.excludes != "" {
			fmt.Fprintf(&out, " Not beside %s.", f.excludes)
		}
		fmt.Fprintf(&out, "\n    Example: %s: %s\n\n", f.key, f.example)
	}
	fmt.Fprintf(&out, "A fault is a map of these keys:\n\n")
	for _, k := range faultKeys() {
		def := ""
		if k.def != "" {
			def = " Default: " + k.def + "."
		}
		fmt.Fprintf(&out, "%s\n    %s Allowed: %s.%s\n\n", k.key, k.doc, k.kind.allowed(k.field), def)
	}
	fmt.Fprintf(&out, "The kinds of faults, the servers' first:\n\n")
	for _, k := range FaultKinds() {
		fmt.Fprintf(&out, "%s\n    %s.\n", k.Name, k.Doc)
		if len(k.Needs) > 0 {
			fmt.Fprintf(&out, "    Needs: %s.\n", strings.Join(k.Needs, ", "))
		}
		if len(k.May) > 0 {
			fmt.Fprintf(&out, "    May have: %s.\n", strings.Join(k.May, ", "))
		}
		fmt.Fprintln(&out)
	}
	_, err := io.WriteString(w, strings.TrimSuffix(out.String(), "\n"))
	return err
}
