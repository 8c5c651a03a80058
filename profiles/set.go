package profiles

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Set returns p with the assignments key=value applied. Each value is YAML, as in a file: sessions=[10,100], hold={exponential: 5ms}, options.watch=exists
// for one option. All are applied before the result is checked, so their order does not matter, except that the last of two for the same key wins. The error
// is Faults; p itself is not changed. Set(p) checks p as it is.
func Set(p Profile, assignments ...string) (Profile, error) {
	r := &reader{catalogue: p.catalogue, source: p.source, places: map[string][]Place{}, written: map[string]string{}}
	given := p.entries()
	ordered := slices.Clone(assignments) // the workload first: the meaning of other aliases depends on it
	slices.SortStableFunc(ordered, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	for _, assignment := range ordered {
		given = r.assign(given, assignment)
	}
	next := r.resolve(given, Place{Source: cmp.Or(p.source, "profile")})
	if err := r.faults.err(); err != nil {
		return Profile{}, err
	}
	next.source, next.places, next.written = p.source, r.places, r.written
	for key, places := range p.places { // an option that kept its value keeps its place
		if option, ok := strings.CutPrefix(key, "options."); ok && next.Options[option] == p.Options[option] {
			next.places[key] = places
		}
	}
	next.keepFaultPlaces(p)
	next.keepGatePlaces(p)
	return next, nil
}

// rank puts the assignment of the workload before the others.
func rank(assignment string) int {
	if key, _, _ := strings.Cut(assignment, "="); strings.TrimSpace(key) == "workload" {
		return 0
	}
	return 1
}

// entries returns the fields of p that differ from their default, with the places where they were read.
func (p Profile) entries() []entry {
	var all []entry
	for _, f := range p.workload().table() {
		value := f.node(p)
		if places := p.places[f.Key]; !f.isDefault(p) {
			at := Place{Source: cmp.Or(p.source, "profile")}
			if len(places) > 0 {
				at = places[0]
			}
			all = append(all, entry{key: f.Key, written: cmp.Or(p.written[f.Key], f.Key), at: at, value: value, keep: places})
		}
	}
	return all
}

// setSource is the prefix of the Source of an assignment.
const setSource = "--set "

// assign adds or replaces one entry.
func (r *reader) assign(given []entry, assignment string) []entry {
	key, text, found := strings.Cut(assignment, "=")
	key = strings.TrimSpace(key)
	at := Place{Source: setSource + key}
	if !found || key == "" {
		r.faults = append(r.faults, Fault{at, strconv.Quote(assignment) + " is not an assignment (expected key=value, such as sessions=[10,100])"})
		return given
	}
	r.stated = at.String()
	defer func() { r.stated = "" }()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		r.fault(&doc, "invalid YAML: "+strings.TrimPrefix(err.Error(), "yaml: "))
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
	written := key
	key = r.catalogue.find(workloadOf(given)).canonical(key)
	for i, e := range given {
		if e.key != key {
			continue
		}
		if option != "" {
			value = with(e.value, option, value)
		}
		if key == "auth" { // the command line is stored with the result, and nothing else reads the replaced value, which may contain a literal secret
			credentials{}.read(r, Field{Key: key, Type: credentials{}}, e.value)
		}
		given[i] = entry{key: key, written: written, at: at, value: value}
		return given
	}
	if option != "" {
		value = with(flow(yaml.MappingNode), option, value)
	}
	return append(given, entry{key: key, written: written, at: at, value: value})
}

// with returns the map n with one key set.
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
