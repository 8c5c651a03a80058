package profiles

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse reads one profile from YAML. The file name is the prefix of every message, and names a profile without a name. The error is Faults, with all
// problems.
func (c Catalogue) Parse(file string, data []byte) (Profile, error) {
	r := &reader{catalogue: c, source: file, places: map[string][]Place{}, written: map[string]string{}}
	root, ok := r.document(data)
	if !ok || !r.plain(root) {
		return Profile{}, r.faults.err()
	}
	p := r.resolve(r.entries(root), r.place(root))
	p.source, p.places, p.written = file, r.places, r.written
	if p.Name == "" {
		p.Name = nameOf(file)
	}
	if err := r.faults.err(); err != nil {
		return Profile{}, err
	}
	return p, nil
}

// nameOf returns the name of a profile that has none: its file name, without characters that a name cannot contain.
func nameOf(file string) string {
	base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	base = strings.Trim(regexp.MustCompile(`[^A-Za-z0-9._+-]+`).ReplaceAllString(base, "-"), "._+-")
	if base == "" {
		return "profile"
	}
	return base[:min(len(base), 64)]
}

// entry is one key of a profile with its value, before it is interpreted.
type entry struct {
	key     string
	written string // the key as it is written: an alias of key, or key itself
	at      Place
	value   *yaml.Node
	keep    []Place // the places of the values, if they are known from an earlier reading
}

// reader converts entries to a Profile and collects the problems and the places on the way.
type reader struct {
	catalogue Catalogue
	source    string
	stated    string // the place of all values that have none themselves: --set key
	places    map[string][]Place
	written   map[string]string
	faults    Faults
}

func (r *reader) place(n *yaml.Node) Place {
	if r.stated != "" {
		return Place{Source: r.stated}
	}
	return Place{Source: r.source, Line: max(n.Line, 1), Column: max(n.Column, 1)}
}

// fault reports message at n. It returns false, so that a read can return its result.
func (r *reader) fault(n *yaml.Node, message string) bool {
	r.faults = append(r.faults, Fault{Place: r.place(n), Message: message})
	return false
}

// wrong reports a value that field f cannot have.
func (r *reader) wrong(f Field, n *yaml.Node, what string) bool {
	return r.fault(n, fmt.Sprintf("%s: %s (expected %s)", f.Key, what, f.Type.allowed(f)))
}

// document returns the root map of the only document in data.
func (r *reader) document(data []byte) (*yaml.Node, bool) {
	top := &yaml.Node{Line: 1, Column: 1}
	var doc, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&doc)
	if err == io.EOF || err == nil && len(doc.Content) == 1 && doc.Content[0].Tag == "!!null" {
		return nil, r.fault(top, "the profile is empty (expected at least "+strings.Join(required(), ", ")+")")
	}
	if err != nil {
		return nil, r.syntax(data, err)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, r.fault(&second, "a second document starts here (expected one profile per file)")
	case err != io.EOF:
		return nil, r.syntax(data, err)
	}
	if root := doc.Content[0]; root.Kind == yaml.MappingNode {
		return root, true
	}
	return nil, r.fault(doc.Content[0], shown(doc.Content[0])+" is not a profile (expected a map of fields to values)")
}

// syntax reports an error of the YAML parser, which gives at most a line, and sometimes that of the enclosing block.
func (r *reader) syntax(data []byte, err error) bool {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	at := &yaml.Node{Line: 1, Column: 1}
	if found := regexp.MustCompile(`^(?:[a-z ]*error: )?line ([0-9]+): `).FindStringSubmatch(message); found != nil {
		at.Line, _ = strconv.Atoi(found[1])
		message = message[len(found[0]):]
	}
	for i, line := range bytes.Split(data, []byte("\n")) {
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if tab := bytes.IndexByte(indent, '\t'); tab >= 0 && len(indent) < len(line) {
			at.Line, at.Column = i+1, tab+1
			return r.fault(at, "this line is indented with a tab (expected spaces)")
		}
	}
	return r.fault(at, "invalid YAML: "+message)
}

// plain reports parts of YAML that a profile must not use, so that a profile means what it says.
func (r *reader) plain(n *yaml.Node) bool {
	ok := true
	switch {
	case n.Kind == yaml.AliasNode:
		return r.fault(n, "*"+n.Value+" is an alias (expected the value itself)")
	case n.Anchor != "":
		ok = r.fault(n, "&"+n.Anchor+" is an anchor (expected the value alone)")
	case n.Style&yaml.TaggedStyle != 0:
		ok = r.fault(n, n.Tag+" is a tag (expected the value alone)")
	}
	for _, inner := range n.Content {
		ok = r.plain(inner) && ok
	}
	return ok
}

// entries returns the entries of the root map. It reports a key that is given twice, and uses the first.
func (r *reader) entries(root *yaml.Node) []entry {
	var all []entry
	var w *Workload
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "workload" {
			w = r.catalogue.find(root.Content[i+1].Value)
		}
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		e := entry{key: w.canonical(key.Value), written: key.Value, at: r.place(key), value: root.Content[i+1]}
		if twin := slices.IndexFunc(all, func(other entry) bool { return other.key == e.key }); twin >= 0 {
			r.fault(key, fmt.Sprintf("%s: duplicate field, first given in line %d as %s", key.Value, all[twin].at.Line, all[twin].written))
			continue
		}
		all = append(all, e)
	}
	return all
}

// resolve returns the profile of these entries, with its defaults. The profile is only meaningful if no problems were found.
func (r *reader) resolve(given []entry, start Place) Profile {
	p := Profile{catalogue: r.catalogue}
	w := r.catalogue.find(workloadOf(given))
	table := w.table()
	read := map[string]bool{} // the keys that were read
	for _, e := range given {
		if i := slices.IndexFunc(table, func(f Field) bool { return f.Key == e.key }); i >= 0 && w.canonical(e.written) == e.key {
			if e.written != e.key {
				r.written[e.key] = e.written
			}
			read[e.key] = r.field(table[i], e, &p)
		} else {
			r.strange(e, w)
		}
	}
	r.known(given, w)
	r.rules(table, given, start, w)
	for _, f := range table {
		if _, isGiven := read[f.Key]; !isGiven && f.Default != "" && f.applies(p) {
			f.setDefault(&p)
		}
	}
	if len(r.faults) == 0 {
		r.together(p, given, start)
		r.planned(p, start)
	}
	return p
}

func workloadOf(given []entry) string {
	for _, e := range given {
		if e.key == "workload" {
			return e.value.Value
		}
	}
	return ""
}

// field reads one entry into p.
func (r *reader) field(f Field, e entry, p *Profile) bool {
	if e.at.Line == 0 || e.keep != nil {
		r.stated = e.at.String()
		defer func() { r.stated = "" }()
	}
	into := reflect.New(f.goType()).Elem()
	items := []*yaml.Node{e.value}
	if f.Axis && e.value.Kind == yaml.SequenceNode {
		items = e.value.Content
	}
	if len(items) == 0 {
		return r.fault(e.value, fmt.Sprintf("%s: the list is empty (expected %s, or a list of them)", e.written, f.Type.allowed(f)))
	}
	row := f
	row.Key = e.written
	ok := true
	seen := map[any]bool{}
	var places []Place
	for _, item := range items {
		places = append(places, r.place(item))
		if item.Tag == "!!null" {
			ok = r.wrong(row, item, "no value")
			continue
		}
		if parts := strings.Split(item.Value, ","); f.Axis && item.Kind == yaml.ScalarNode && len(parts) > 1 {
			for i := range parts {
				parts[i] = strings.TrimSpace(parts[i])
			}
			ok = r.fault(item, fmt.Sprintf("%s: %s is one value, did you mean [%s]?", e.written, shown(item), strings.Join(parts, ", ")))
			continue
		}
		value, good := f.Type.read(r, row, item)
		switch {
		case !good:
			ok = false
		case !f.Axis:
			into.Set(reflect.ValueOf(value).Convert(into.Type()))
		case seen[value]:
			ok = r.fault(item, fmt.Sprintf("%s: duplicate value %s", e.written, item.Value))
		default:
			seen[value] = true
			into.Set(reflect.Append(into, reflect.ValueOf(value).Convert(into.Type().Elem())))
		}
	}
	if e.keep != nil {
		places = e.keep
	}
	r.places[f.Key] = places
	f.set(p, into)
	return ok
}
