package profiles

import (
	"fmt"
	"slices"
	"strings"
)

// required returns the keys that every load must have, in the order of the table.
func required() []string {
	var all []string
	for _, f := range head() {
		if f.Required {
			all = append(all, f.Key)
		}
	}
	return all
}

// applies reports whether the field has a meaning in p, given its other fields.
func (f Field) applies(p Profile) bool {
	return (f.Needs == "" || oneOf(f.Needs, p.isGiven)) && (f.Excludes == "" || !oneOf(f.Excludes, p.isGiven))
}

// oneOf reports whether is returns true for one of the keys, which '|' separates.
func oneOf(keys string, is func(string) bool) bool {
	return slices.ContainsFunc(strings.Split(keys, "|"), is)
}

// either formats the keys for a message.
func either(keys string) string { return strings.ReplaceAll(keys, "|", " or ") }

// isGiven reports whether the value of key is not zero.
func (p Profile) isGiven(key string) bool {
	return slices.ContainsFunc(p.workload().table(), func(f Field) bool { return f.Key == key && !f.get(p).IsZero() })
}

// strange reports a key that the workload does not have. If the workload itself is unknown, it ignores keys that another workload has.
func (r *reader) strange(e entry, w *Workload) {
	at := func(format string, args ...any) {
		r.faults = append(r.faults, Fault{e.at, e.written + ": " + fmt.Sprintf(format, args...)})
	}
	others := r.catalogue.having(e.written)
	switch common := isCommon(e.key); {
	case slices.Contains(otherNames, e.key) && (w == nil || w.Shape != Played):
		r.faults = append(r.faults, Fault{e.at, fmt.Sprintf("unknown field %q (limits are gates: [\"errors < 0.1%%\", \"violations == 0\"])", e.written)})
	case w == nil && (common || len(others) > 0):
	case common && w.Shape == Played:
		at("not a field of workload %s, which has no load", w.Name)
	case common && w.Shape == Finite:
		at("not a field of workload %s, which ends %s", w.Name, w.Ends)
	case len(others) > 0:
		at("not a field of workload %s (only of %s)", w.Name, strings.Join(others, ", "))
	default:
		r.faults = append(r.faults, Fault{e.at, fmt.Sprintf("unknown field %q (%s)", e.written, didYouMean(e.written, w.spellings()))})
	}
}

// known reports a workload that the catalogue does not have.
func (r *reader) known(given []entry, w *Workload) {
	i := slices.IndexFunc(given, func(e entry) bool { return e.key == "workload" })
	if i < 0 || w != nil || r.catalogue == nil || given[i].value.Value == "" {
		return
	}
	name := given[i].value.Value
	place := given[i].at
	if given[i].keep == nil && place.Line > 0 {
		place = r.place(given[i].value)
	} else if given[i].keep != nil {
		place = given[i].keep[0]
	}
	r.faults = append(r.faults, Fault{place, fmt.Sprintf("workload: unknown workload %q (%s)", name, didYouMean(name, r.catalogue.Names()))})
}

// rules reports missing fields, and fields that cannot be combined with the others.
func (r *reader) rules(table []Field, given []entry, start Place, w *Workload) {
	at := func(place Place, format string, args ...any) {
		r.faults = append(r.faults, Fault{place, fmt.Sprintf(format, args...)})
	}
	has := func(key string) bool { return slices.ContainsFunc(given, func(e entry) bool { return e.key == key }) }
	known := w.spellings()
	misspelt := func(key string) bool { // already reported, as an unknown field
		return slices.ContainsFunc(given, func(e entry) bool {
			return e.key != key && w.canonical(Nearest(e.written, known)) == key && !slices.Contains(known, e.written)
		})
	}
	for _, f := range table {
		i := slices.IndexFunc(given, func(e entry) bool { return e.key == f.Key })
		switch {
		case i < 0 && f.Required && !misspelt(f.Key) && (w != nil || f.Key != "sessions" || r.catalogue == nil || !has("workload")):
			at(start, "%s: required field is missing (for example %s: %s)", f.Key, f.Key, f.Example)
		case i < 0:
		case f.Needs != "" && !oneOf(f.Needs, has):
			at(given[i].at, "%s: only valid with %s (remove it, or add %s)", f.Key, either(f.Needs), strings.Split(f.Needs, "|")[0])
		case f.Excludes != "" && oneOf(f.Excludes, has):
			i, keys := i, strings.Split(f.Excludes, "|")
			at(given[i].at, "%s: cannot be combined with %s (remove one of them)", f.Key, keys[slices.IndexFunc(keys, has)])
		}
	}
}

// together reports numbers that are valid alone but not together.
func (r *reader) together(p Profile, given []entry, start Place) {
	w := p.workload()
	if w == nil || w.Check == nil {
		return
	}
	for _, problem := range w.Check(p) {
		place, written := start, problem.Key
		if places := r.places[problem.Key]; len(places) > 0 {
			place = places[min(problem.Index, len(places)-1)]
		}
		if i := slices.IndexFunc(given, func(e entry) bool { return e.key == problem.Key }); i >= 0 {
			written = given[i].written
		}
		r.faults = append(r.faults, Fault{place, written + ": " + problem.Message})
	}
}
