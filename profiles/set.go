package profiles

import (
	"cmp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Set is p with the assignments key=value applied, each value in YAML as in a file: sessions=[10,100], hold={exponential: 5ms},
// options.watch=exists for one option. All are applied before the whole is judged, so their order means nothing, except that
// the last of two for the same key wins. The error is Faults; p itself is not changed. Set(p) judges p as it is.
func Set(p Profile, assignments ...string) (Profile, error) {
	r := &reader{source: p.source, places: map[string][]Place{}}
	given := p.entries()
	for _, assignment := range assignments {
		given = r.assign(given, assignment)
	}
	next := r.resolve(given, Place{Source: cmp.Or(p.source, "profile")})
	if err := r.faults.err(); err != nil {
		return Profile{}, err
	}
	next.source, next.places = p.source, r.places
	for key, places := range p.places { // an option that kept its value keeps its place
		if option, ok := strings.CutPrefix(key, "options."); ok && next.Options[option] == p.Options[option] {
			next.places[key] = places
		}
	}
	next.keepFaultPlaces(p)
	return next, nil
}

// entries are the fields of p that differ from their default, with the places they were read at.
func (p Profile) entries() []entry {
	var all []entry
	for _, f := range fields() {
		value := f.node(p)
		if places := p.places[f.key]; !f.isDefault(p) {
			at := Place{Source: cmp.Or(p.source, "profile")}
			if len(places) > 0 {
				at = places[0]
			}
			all = append(all, entry{key: f.key, at: at, value: value, keep: places})
		}
	}
	return all
}

// assign adds or replaces one entry.
func (r *reader) assign(given []entry, assignment string) []entry {
	key, text, found := strings.Cut(assignment, "=")
	key = strings.TrimSpace(key)
	at := Place{Source: "--set " + key}
	if !found || key == "" {
		r.faults = append(r.faults, Fault{at, strconv.Quote(assignment) + " is not an assignment; allowed is key=value, such as sessions=[10,100]"})
		return given
	}
	r.stated = at.String()
	defer func() { r.stated = "" }()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		r.fault(&doc, "this is not YAML: "+strings.TrimPrefix(err.Error(), "yaml: "))
		return given
	}
	value := scalar("!!null", "")
	if len(doc.Content) == 1 {
		value = doc.Content[0]
	}
	if !r.plain(value) {
		return given
	}
	option := ""
	if head, rest, nested := strings.Cut(key, "."); nested && head == "options" {
		key, option = head, rest
	}
	key = canonical(key, workloadOf(given))
	for i, e := range given {
		if e.key != key {
			continue
		}
		if option != "" {
			value = with(e.value, option, value)
		}
		given[i] = entry{key: key, at: at, value: value}
		return given
	}
	if option != "" {
		value = with(flow(yaml.MappingNode), option, value)
	}
	return append(given, entry{key: key, at: at, value: value})
}

// with is the map n with one key set.
func with(n *yaml.Node, key string, value *yaml.Node) *yaml.Node {
	next := flow(yaml.MappingNode)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != key {
			next.Content = append(next.Content, n.Content[i], n.Content[i+1])
		}
	}
	next.Content = append(next.Content, scalar("!!str", key), value)
	return next
}
