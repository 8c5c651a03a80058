package profiles

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// object is a JSON object; encoding/json writes its keys in order.
type object map[string]any

// dependent returns the schema that says that a key needs one of others.
func dependent(key string, needs []string) object {
	if len(needs) == 1 {
		return object{"dependentRequired": object{key: needs}}
	}
	var any []any
	for _, need := range needs {
		any = append(any, object{"required": []string{need}})
	}
	return object{"if": object{"required": []string{key}}, "then": object{"anyOf": any}}
}

// Schema returns the JSON Schema (draft 2020-12) of a profile, for editors. It covers what a single field must be, and which fields exclude or need each
// other; only Parse checks the range of durations and what Workload.Check reports.
func (c Catalogue) Schema() ([]byte, error) {
	properties := object{}
	var together []any
	for _, row := range c.rows() {
		f := row.Field
		properties[f.Key] = merged(properties[f.Key], row)
		if f.Excludes != "" {
			for key := range strings.SplitSeq(f.Excludes, "|") {
				together = append(together, object{"not": object{"required": []string{f.Key, key}}})
			}
		}
		if f.Needs != "" {
			together = append(together, dependent(f.Key, strings.Split(f.Needs, "|")))
		}
	}
	for _, w := range c {
		table, names := w.table(), w.spellings()
		var required []any
		for _, f := range table {
			if !f.Required {
				continue
			}
			either := []any{object{"required": []string{f.Key}}}
			for alias, key := range w.Alias {
				if key == f.Key {
					either = append(either, object{"required": []string{alias}})
				}
			}
			required = append(required, object{"anyOf": either})
		}
		for _, alias := range slices.Sorted(maps.Keys(w.Alias)) {
			key := w.Alias[alias]
			f := table[slices.IndexFunc(table, func(f Field) bool { return f.Key == key })]
			f.Doc = "Another name of " + key + ". " + f.Doc
			properties[alias] = merged(properties[alias], row{f, []string{w.Name}})
			required = append(required, object{"not": object{"required": []string{key, alias}}})
		}
		together = append(together, object{
			"if":   object{"properties": object{"workload": object{"enum": []string{w.Name}}}, "required": []string{"workload"}},
			"then": object{"propertyNames": object{"enum": names}, "allOf": required},
		})
	}
	properties["workload"].(object)["enum"] = c.Names()
	return json.MarshalIndent(object{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "zkbench profile",
		"description":          "One run of zkbench: what each session does, how many there are, and for how long.",
		"type":                 "object",
		"additionalProperties": false,
		"required":             []string{"workload"},
		"properties":           properties,
		"allOf":                together,
	}, "", "  ")
}

// row is a field together with the workloads that describe it in the same way; nil: all of them.
type row struct {
	Field
	workloads []string
}

// rows returns every field once for each way in which workloads describe it, in the order in which profiles are written.
func (c Catalogue) rows() []row {
	var own []row
	for _, w := range c {
		for _, f := range w.Fields {
			i := slices.IndexFunc(own, func(r row) bool { return r.Key == f.Key && r.Doc == f.Doc && r.Default == f.Default })
			if i < 0 {
				own = append(own, row{f, nil})
				i = len(own) - 1
			}
			own[i].workloads = append(own[i].workloads, w.Name)
		}
	}
	var all []row
	common := func(fields []Field) {
		for _, f := range fields {
			r := row{f, nil}
			for _, w := range c {
				if f.scope.has(w) {
					r.workloads = append(r.workloads, w.Name)
				}
			}
			if len(r.workloads) == len(c) {
				r.workloads = nil
			}
			all = append(all, r)
		}
	}
	common(head())
	all = append(all, own...)
	common(tail())
	return all
}

// aliases returns the other names that workloads of the row have for its field.
func (c Catalogue) aliases(r row) (all []string) {
	for _, w := range c {
		for _, alias := range slices.Sorted(maps.Keys(w.Alias)) {
			if w.Alias[alias] == r.Key && (r.workloads == nil || slices.Contains(r.workloads, w.Name)) && !slices.Contains(all, alias) {
				all = append(all, alias)
			}
		}
	}
	return all
}

// merged returns the schema of a property that several workloads may have: their descriptions differ, their values do not.
func merged(before any, r row) object {
	s := r.property()
	if r.workloads != nil {
		s["description"] = strings.Join(r.workloads, ", ") + ": " + s["description"].(string)
	}
	if before, some := before.(object); some {
		before["description"] = before["description"].(string) + " " + s["description"].(string)
		return before
	}
	return s
}

// property returns the schema of the field's value.
func (f Field) property() object {
	s := f.Type.schema(f)
	if f.Axis {
		s = object{"anyOf": []any{s, object{"type": "array", "items": s, "minItems": 1, "uniqueItems": true}}}
	}
	s["description"] = f.Doc + " Expected: " + f.Type.allowed(f) + "."
	for keyword, text := range map[string]string{"default": f.Default, "examples": "[" + f.Example + "]"} {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err == nil && value != nil {
			s[keyword] = value
		}
	}
	return s
}

// WriteReference writes a description of every key of a profile, for a terminal.
func (c Catalogue) WriteReference(w io.Writer) error {
	var out strings.Builder
	for _, r := range c.rows() {
		f := r.Field
		list := ""
		if f.Axis {
			list = ", or a list of them: one cell for each"
		}
		fmt.Fprintf(&out, "%s\n    %s\n    Expected: %s%s.\n", f.Key, f.Doc, f.Type.allowed(f), list)
		switch {
		case f.Required:
			fmt.Fprint(&out, "    Required.")
		case f.Default != "":
			fmt.Fprintf(&out, "    Default: %s.", f.Default)
		default:
			fmt.Fprint(&out, "    Default: none.")
		}
		if r.workloads != nil {
			fmt.Fprintf(&out, " Workload: %s.", strings.Join(r.workloads, ", "))
		}
		if aliases := c.aliases(r); len(aliases) > 0 {
			fmt.Fprintf(&out, " Also written: %s.", strings.Join(aliases, ", "))
		}
		if f.Needs != "" {
			fmt.Fprintf(&out, " Only beside %s.", either(f.Needs))
		}
		if f.Excludes != "" {
			fmt.Fprintf(&out, " Not beside %s.", either(f.Excludes))
		}
		fmt.Fprintf(&out, "\n    Example: %s: %s\n\n", f.Key, f.Example)
	}
	fmt.Fprintf(&out, "A fault is a map of these keys:\n\n")
	for _, k := range faultKeys() {
		def := ""
		if k.Default != "" {
			def = " Default: " + k.Default + "."
		}
		fmt.Fprintf(&out, "%s\n    %s Expected: %s.%s\n\n", k.Key, k.Doc, k.Type.allowed(k.Field), def)
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
