package profiles

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// gateList is a list of gates. The package that runs the profile checks what the gates say.
type gateList struct{}

// longestGate is the maximum number of characters in a gate.
const longestGate = 200

func (gateList) allowed(Field) string {
	return `a list of gates, such as ["p99(acquire.service) < 50ms", "events_per_release <= 1.1"]`
}

func (k gateList) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		if items = n.Content; len(items) == 0 {
			return nil, r.wrong(f, n, "the list is empty")
		}
	}
	var all []string
	ok := true
	for i, item := range items {
		text := strings.TrimSpace(item.Value)
		switch {
		case item.Kind != yaml.ScalarNode || item.Tag == "!!null" || text == "":
			ok = r.wrong(f, item, shown(item)+" is not a gate")
		case strings.Count(text, "(") != strings.Count(text, ")"):
			ok = r.fault(item, fmt.Sprintf("%s: %s has an open parenthesis (quote the gate: a comma separates the values of a list)", f.Key, shown(item)))
		case len(text) > longestGate || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }):
			ok = r.fault(item, fmt.Sprintf("%s: must be printable text of at most %d characters", f.Key, longestGate))
		case slices.Contains(all, text):
			ok = r.fault(item, fmt.Sprintf("%s: duplicate value %s", f.Key, text))
		default:
			r.places[fmt.Sprintf("gates.%d", len(all))] = []Place{r.place(items[i])}
			all = append(all, text)
		}
	}
	return all, ok
}

func (gateList) write(value any) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, gate := range value.([]string) {
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: gate, Style: yaml.DoubleQuotedStyle})
	}
	return list
}

func (gateList) schema(Field) object {
	one := object{"type": "string", "maxLength": longestGate}
	return object{"anyOf": []any{one, object{"type": "array", "items": one, "minItems": 1, "uniqueItems": true}}}
}

// otherNames are keys that other tools use for gates.
var otherNames = []string{"gate", "goal", "goals", "slo", "slos", "threshold", "thresholds", "limits", "budget", "assertions"}

// AtGate returns where the i-th gate was given.
func (p Profile) AtGate(i int) Place {
	if places := p.places[fmt.Sprintf("gates.%d", i)]; len(places) > 0 {
		return places[0]
	}
	return Place{Source: p.At("gates", i)}
}

// PlaceOf returns where the index-th value of key was given; if it was not given, the first line of the profile.
func (p Profile) PlaceOf(key string, index int) Place {
	if places := p.places[key]; len(places) > 0 {
		return places[max(min(index, len(places)-1), 0)]
	}
	return Place{Source: p.source, Line: 1, Column: 1}
}

// WithGates returns p with more gates, given at place. It leaves out gates that p already has.
func (p Profile) WithGates(place string, more ...string) Profile {
	p.Gates, p.places = slices.Clone(p.Gates), maps.Clone(p.places)
	if p.places == nil {
		p.places = map[string][]Place{}
	}
	for _, gate := range more {
		if gate = strings.TrimSpace(gate); !slices.Contains(p.Gates, gate) {
			p.places[fmt.Sprintf("gates.%d", len(p.Gates))] = []Place{{Source: place}}
			p.Gates = append(p.Gates, gate)
		}
	}
	return p
}

// keepGatePlaces gives the gates their places in old, if they have not changed.
func (p *Profile) keepGatePlaces(old Profile) {
	if !slices.Equal(p.Gates, old.Gates) {
		return
	}
	for key, places := range old.places {
		if strings.HasPrefix(key, "gates.") {
			p.places[key] = places
		}
	}
}
