package profiles

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Place is where a value was given: a file with line and column, counted from 1, or just a Source such as '--set sessions'.
type Place struct {
	Source       string
	Line, Column int
}

func (p Place) String() string {
	if p.Line == 0 {
		return p.Source
	}
	return fmt.Sprintf("%s:%d:%d", p.Source, p.Line, p.Column)
}

// Fault is one problem of a profile, with its remedy.
type Fault struct {
	Place   Place
	Message string
}

// Error names the place once: the place of --set already contains the key.
func (f Fault) Error() string {
	message := f.Message
	if key, set := strings.CutPrefix(f.Place.Source, setSource); set {
		message = strings.TrimPrefix(message, key+": ")
	}
	return f.Place.String() + ": " + message
}

// Faults are all problems of a profile, in the order of the file. Error returns one line for each.
type Faults []Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes the problems available to errors.As.
func (f Faults) Unwrap() []error {
	errs := make([]error, len(f))
	for i, fault := range f {
		errs[i] = fault
	}
	return errs
}

// err returns nil if there are no problems; otherwise the problems, sorted by place.
func (f Faults) err() error {
	if len(f) == 0 {
		return nil
	}
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Place.Line, b.Place.Line), cmp.Compare(a.Place.Column, b.Place.Column))
	})
	return f
}
