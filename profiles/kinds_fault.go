package profiles

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The types for the faults that a profile plans.
type (
	faultList  struct{} // of maps
	serverName struct{} // of a server: its role or its number
)

// mostServers is the highest server number: no ensemble that zkbench starts has more servers.
const mostServers = 9

func (serverName) allowed(Field) string {
	return fmt.Sprintf("%s, %s, or a number from 1 to %d", Leader, Follower, mostServers)
}

func (k serverName) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	number, err := strconv.Atoi(n.Value)
	known := n.Value == Leader || n.Value == Follower || err == nil && number >= 1 && number <= mostServers && n.Value == strconv.Itoa(number)
	if n.Kind != yaml.ScalarNode || !known {
		return nil, r.wrong(f, n, shown(n)+" is not a server")
	}
	return n.Value, true
}

func (serverName) write(value any) *yaml.Node {
	if _, err := strconv.Atoi(value.(string)); err == nil {
		return scalar("!!int", value.(string))
	}
	return scalar("!!str", value.(string))
}

func (serverName) schema(Field) object {
	return object{"anyOf": []any{object{"enum": []string{Leader, Follower}}, object{"type": "integer", "minimum": 1, "maximum": mostServers}}}
}

func (faultList) allowed(Field) string {
	return "a list of maps, such as [{at: 5s, kind: kill, server: leader, for: 5s}, {at: 8s, kind: expire, session: 3}]"
}

func (k faultList) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.SequenceNode {
		return nil, r.wrong(f, n, shown(n)+" is not a list")
	}
	var all []PlannedFault
	ok := true
	for i, item := range n.Content {
		one, good := k.one(r, f, i, item)
		all, ok = append(all, one), ok && good
	}
	return all, ok
}

// one reads the i-th fault.
func (faultList) one(r *reader, f Field, i int, n *yaml.Node) (PlannedFault, bool) {
	p := PlannedFault{Session: AnySession}
	if n.Kind != yaml.MappingNode {
		return p, r.fault(n, fmt.Sprintf("%s: %s is not a fault (expected a map, such as {at: 5s, kind: kill, server: leader})", f.Key, shown(n)))
	}
	place := fmt.Sprintf("%s.%d", f.Key, i)
	r.places[place] = []Place{r.place(n)}
	kind, known := faultKindOf(n)
	table := faultKeys()
	seen, ok := map[string]bool{}, true
	for j := 0; j+1 < len(n.Content); j += 2 {
		key, value := n.Content[j], n.Content[j+1]
		at := slices.IndexFunc(table, func(k faultKey) bool { return k.Key == key.Value })
		switch {
		case at < 0:
			ok = r.fault(key, fmt.Sprintf("%s: unknown field %q of a fault (%s)", f.Key, key.Value, didYouMean(key.Value, faultKeyNames(kind))))
			continue
		case seen[key.Value]:
			ok = r.fault(key, fmt.Sprintf("%s: duplicate field %s", f.Key, key.Value))
			continue
		case known && !kind.takes(key.Value):
			ok = r.fault(key, fmt.Sprintf("%s: %s is not a field of %s (expected %s)", f.Key, key.Value, kind.Name,
				strings.Join(faultKeyNames(kind), ", ")))
			continue
		}
		seen[key.Value] = true
		row := table[at].Field
		row.Key = f.Key + ": " + row.Key
		read, good := row.Type.read(r, row, value)
		if !good {
			ok = false
			continue
		}
		table[at].set(&p, read)
		r.places[place+"."+key.Value] = []Place{r.place(value)}
	}
	for _, need := range append([]string{"at", "kind"}, kind.Needs...) {
		if !seen[need] {
			ok = r.fault(n, fmt.Sprintf("%s: required field %s is missing%s", f.Key, need, ofKind(kind)))
		}
	}
	for _, row := range table {
		if row.Default != "" && known && kind.takes(row.Key) && !seen[row.Key] {
			var def yaml.Node
			if err := yaml.Unmarshal([]byte(row.Default), &def); err == nil {
				value, _ := row.Type.read(r, row.Field, def.Content[0])
				row.set(&p, value)
			}
		}
	}
	return p, ok
}

func ofKind(k FaultKind) string {
	if k.Name == "" {
		return ""
	}
	return " (" + k.Name + " needs it)"
}

// faultKindOf returns the kind that a fault declares.
func faultKindOf(n *yaml.Node) (FaultKind, bool) {
	for j := 0; j+1 < len(n.Content); j += 2 {
		if n.Content[j].Value != "kind" {
			continue
		}
		for _, k := range FaultKinds() {
			if k.Name == n.Content[j+1].Value {
				return k, true
			}
		}
	}
	return FaultKind{}, false
}

// faultKeyNames returns the keys that a fault of the kind accepts; all keys if the kind is unknown.
func faultKeyNames(kind FaultKind) []string {
	var names []string
	for _, k := range faultKeys() {
		if kind.Name == "" || kind.takes(k.Key) {
			names = append(names, k.Key)
		}
	}
	return names
}

func (faultList) write(value any) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, f := range value.([]PlannedFault) {
		one := flow(yaml.MappingNode)
		for _, k := range faultKeys() {
			if v := k.get(f); v != nil {
				one.Content = append(one.Content, scalar("!!str", k.Key), k.Type.write(v))
			}
		}
		list.Content = append(list.Content, one)
	}
	return list
}

func (faultList) schema(Field) object {
	properties, kinds := object{}, []any{}
	for _, k := range faultKeys() {
		s := k.Type.schema(k.Field)
		s["description"] = k.Doc
		properties[k.Key] = s
	}
	for _, kind := range FaultKinds() {
		kinds = append(kinds, object{
			"if": object{"properties": object{"kind": object{"enum": []string{kind.Name}}}, "required": []string{"kind"}},
			"then": object{"description": kind.Doc, "required": append([]string{"at", "kind"}, kind.Needs...),
				"propertyNames": object{"enum": faultKeyNames(kind)}},
		})
	}
	return object{"type": "array", "items": object{"type": "object", "additionalProperties": false, "required": []string{"at", "kind"},
		"properties": properties, "allOf": kinds}}
}

// planned reports faults that are valid alone but not with the rest of the profile.
func (r *reader) planned(p Profile, start Place) {
	at := func(i int, key string) Place {
		if places := r.places[fmt.Sprintf("faults.%d.%s", i, key)]; len(places) > 0 {
			return places[0]
		}
		return start
	}
	if len(p.Sessions) == 0 {
		return
	}
	phase := "steady phase"
	if p.Overtime > 0 {
		phase += " and its overtime"
	}
	for i, f := range p.Faults {
		if key, problem := f.storm(p); key != "" {
			r.faults = append(r.faults, Fault{at(i, key), "faults: " + problem})
			continue
		}
		switch lasts := slices.ContainsFunc(FaultKinds(), func(k FaultKind) bool { return k.Name == f.Kind && k.takes("for") }); {
		case f.Every > 0 && p.Duration == 0:
			r.faults = append(r.faults, Fault{at(i, "every"), "faults: every needs a steady phase with a duration, and this workload ends with its work"})
		case f.Every > 0 && lasts && (f.For == 0 || f.For >= f.Every):
			r.faults = append(r.faults, Fault{at(i, "every"), fmt.Sprintf("faults: every must be longer than for, which must be given, got every %v and for %v", f.Every, f.For)})
		case f.Every > 0:
		case p.Duration > 0 && f.At >= p.Duration+p.Overtime: // a cell with a fixed amount of work has no duration
			r.faults = append(r.faults, Fault{at(i, "at"), fmt.Sprintf(
				"faults: at must be before the end of the %[3]s, %[2]v after its start, got %[1]v", f.At, p.Duration+p.Overtime, phase)})
		}
		if least := slices.Min(p.Sessions); f.Session >= least {
			r.faults = append(r.faults, Fault{at(i, "session"), fmt.Sprintf(
				"faults: no session %d in a cell of %d sessions (expected 0 to %d)", f.Session, least, least-1)})
		}
	}
}

// AtFault is At for the i-th fault of the profile, or for one of its keys; "" is the fault itself.
func (p Profile) AtFault(i int, key string) string {
	if key != "" {
		if places := p.places[fmt.Sprintf("faults.%d.%s", i, key)]; len(places) > 0 {
			return places[0].String()
		}
	}
	if places := p.places[fmt.Sprintf("faults.%d", i)]; len(places) > 0 {
		return places[0].String()
	}
	return p.At("faults", i)
}

// keepFaultPlaces gives the faults their places in old, if they have not changed.
func (p *Profile) keepFaultPlaces(old Profile) {
	if !reflect.DeepEqual(p.Faults, old.Faults) {
		return
	}
	for key, places := range old.places {
		if strings.HasPrefix(key, "faults.") {
			p.places[key] = places
		}
	}
}
