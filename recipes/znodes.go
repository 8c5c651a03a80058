package recipes

import (
	"slices"
	"strings"
)

// Znodes are the names that a recipe, or its caller, gives to znodes, each with the name of the parent: PARENT/NAME. They are regular expressions
// that match the whole, in which OBJECT is the znode that the recipe was given, # a number, SEQ the number that a server appends, GUID that of an
// attempt to create, and PROTECTED a name with both, in any layout. Below the root of a run, a znode that matches no such name counts as foreign,
// and is left alone.
type Znodes struct {
	Persistent []string // never ephemeral: directories, items
	Ephemeral  []string // may be ephemeral, and then belong to a run only if their session does
}

// And returns these names together with others.
func (z Znodes) And(others ...Znodes) Znodes {
	for _, o := range others {
		z.Persistent, z.Ephemeral = slices.Concat(z.Persistent, o.Persistent), slices.Concat(z.Ephemeral, o.Ephemeral)
	}
	return z
}

// Of returns the names for an OBJECT of this name.
func (z Znodes) Of(object string) Znodes {
	named := func(all []string) (of []string) {
		for _, name := range all {
			of = append(of, strings.ReplaceAll(name, "OBJECT", object))
		}
		return of
	}
	return Znodes{named(z.Persistent), named(z.Ephemeral)}
}
