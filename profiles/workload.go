package profiles

import (
	"maps"
	"slices"
)

// Workload is what profiles know of a workload: its name, what bounds it, and the fields that it has of its own.
type Workload struct {
	Name   string
	Shape  Shape
	Ends   string            // of a Finite one, how it ends: 'when each client has passed its barriers'
	Once   bool              // of a Played one: it has no repetitions
	Fields []Field           // of its own, in the order in which a profile is written
	Alias  map[string]string // other names of fields, its own or common ones, that profiles may use
	// Check reports numbers that are right alone and wrong together; nil: nothing to check. It is called for profiles whose fields are right.
	Check func(Profile) []Problem
}

// Shape is what bounds a workload.
type Shape int

// The shapes of workloads.
const (
	Timed  Shape = iota // a load that goes on for a duration
	Finite              // a load with so much to do, which ends when it is done
	Played              // no load: scenes that are played one by one
)

// Problem is something that is wrong with a field of a workload.
type Problem struct {
	Key     string
	Index   int // of the value, on an axis
	Message string
}

// Catalogue is the workloads that profiles may name. A nil Catalogue knows none, and lets every name pass.
type Catalogue []*Workload

// find returns nil for a workload that it does not know.
func (c Catalogue) find(name string) *Workload {
	if i := slices.IndexFunc(c, func(w *Workload) bool { return w.Name == name }); i >= 0 {
		return c[i]
	}
	return nil
}

// Names of the workloads.
func (c Catalogue) Names() []string {
	var names []string
	for _, w := range c {
		names = append(names, w.Name)
	}
	return names
}

// having are the names of the workloads that have a key, by that name or as an alias.
func (c Catalogue) having(key string) []string {
	var names []string
	for _, w := range c {
		if slices.Contains(w.keys(), key) || w.Alias[key] != "" {
			names = append(names, w.Name)
		}
	}
	return names
}

// table is all fields of a profile with this workload, in the order in which it is written; of a nil workload the common ones.
func (w *Workload) table() []Field {
	var all []Field
	for _, f := range head() {
		if f.scope.has(w) {
			all = append(all, f)
		}
	}
	if w != nil {
		all = append(all, w.Fields...)
	}
	for _, f := range tail() {
		if f.scope.has(w) {
			all = append(all, f)
		}
	}
	return all
}

// keys of the table.
func (w *Workload) keys() []string {
	var all []string
	for _, f := range w.table() {
		all = append(all, f.Key)
	}
	return all
}

// spellings are the keys and their aliases.
func (w *Workload) spellings() []string {
	all := w.keys()
	if w != nil {
		all = append(all, slices.Sorted(maps.Keys(w.Alias))...)
	}
	return all
}

// canonical is the key that a key of a profile stands for.
func (w *Workload) canonical(key string) string {
	if w != nil && w.Alias[key] != "" {
		return w.Alias[key]
	}
	return key
}

// isCommon reports whether a key is a common field, though not of every workload.
func isCommon(key string) bool {
	return slices.ContainsFunc(append(head(), tail()...), func(f Field) bool { return f.Key == key })
}
