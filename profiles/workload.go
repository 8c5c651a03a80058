package profiles

import (
	"maps"
	"slices"
)

// Workload is what this package knows of a workload: its name, what bounds it, and its own fields.
type Workload struct {
	Name   string
	Shape  Shape
	Ends   string            // for a Finite workload, how it ends: 'when each client has passed its barriers'
	Once   bool              // for a Played workload: it has no repetitions
	Fields []Field           // its own, in the order in which a profile is written
	Alias  map[string]string // other names that profiles may use for fields, its own or common ones
	// Check reports numbers that are valid alone but not together; nil: nothing to check. It is called only for profiles whose fields are valid.
	Check func(Profile) []Problem
}

// Shape says what bounds a workload.
type Shape int

// The shapes of workloads.
const (
	Timed  Shape = iota // a load that continues for a duration
	Finite              // a load with a fixed amount of work, which ends when it is done
	Played              // no load: scenes that are played one by one
)

// Problem is a problem with a field of a workload.
type Problem struct {
	Key     string
	Index   int // of the value on an axis
	Message string
}

// Catalogue is the list of workloads that profiles may name. A nil Catalogue is empty and accepts every name.
type Catalogue []*Workload

// find returns the workload with a name, or nil if there is none.
func (c Catalogue) find(name string) *Workload {
	if i := slices.IndexFunc(c, func(w *Workload) bool { return w.Name == name }); i >= 0 {
		return c[i]
	}
	return nil
}

// Names returns the names of the workloads.
func (c Catalogue) Names() []string {
	var names []string
	for _, w := range c {
		names = append(names, w.Name)
	}
	return names
}

// having returns the names of the workloads that have a key, by that name or as an alias.
func (c Catalogue) having(key string) []string {
	var names []string
	for _, w := range c {
		if slices.Contains(w.keys(), key) || w.Alias[key] != "" {
			names = append(names, w.Name)
		}
	}
	return names
}

// table returns all fields of a profile with this workload, in the order in which it is written; for a nil workload, the common ones.
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

// keys returns the keys of the table.
func (w *Workload) keys() []string {
	var all []string
	for _, f := range w.table() {
		all = append(all, f.Key)
	}
	return all
}

// spellings returns the keys and their aliases.
func (w *Workload) spellings() []string {
	all := w.keys()
	if w != nil {
		all = append(all, slices.Sorted(maps.Keys(w.Alias))...)
	}
	return all
}

// canonical returns the key that a key of a profile stands for.
func (w *Workload) canonical(key string) string {
	if w != nil && w.Alias[key] != "" {
		return w.Alias[key]
	}
	return key
}

// isCommon reports whether a key is a common field, though perhaps not of every workload.
func isCommon(key string) bool {
	return slices.ContainsFunc(append(head(), tail()...), func(f Field) bool { return f.Key == key })
}
