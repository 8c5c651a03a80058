package profiles

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Values are the values of the workload's own fields at one point of a profile, by key. A field that is not among them has its default. Reading is safe for
// concurrent use.
type Values map[string]any

// Values returns the values of a point, in which each axis has one value.
func (p Profile) Values() Values {
	v := Values{}
	for key, value := range p.values {
		if list := reflect.ValueOf(value); list.Kind() == reflect.Slice {
			if list.Len() == 0 {
				continue
			}
			value = list.Index(0).Interface()
		}
		v[key] = value
	}
	return v
}

// Int returns the value of a WholeNumber.
func (v Values) Int(f Field) int { return valueOf[int](v, f) }

// Share returns the value of a WholeNumber in percent, as a fraction from 0 to 1.
func (v Values) Share(f Field) float64 { return float64(v.Int(f)) / 100 }

// Word returns the value of a OneOf.
func (v Values) Word(f Field) string { return valueOf[string](v, f) }

// Distribution returns the value of a DurationDistribution.
func (v Values) Distribution(f Field) Distribution { return valueOf[Distribution](v, f) }

// Shares returns the value of a WordShares.
func (v Values) Shares(f Field) Shares { return valueOf[Shares](v, f) }

// Sizes returns the value of a SizeDistribution.
func (v Values) Sizes(f Field) Sizes { return valueOf[Sizes](v, f) }

// Popularity returns the value of a KeyPopularity.
func (v Values) Popularity(f Field) Popularity { return valueOf[Popularity](v, f) }

func valueOf[T any](v Values, f Field) T {
	if value, given := v[f.Key].(T); given {
		return value
	}
	var p Profile
	one := f
	one.Axis = false
	one.setDefault(&p)
	value, _ := p.values[f.Key].(T)
	return value
}

// Ints returns the values of a profile on an axis of WholeNumbers; for a field that is not an axis, its one value.
func (p Profile) Ints(f Field) []int {
	switch v := p.values[f.Key].(type) {
	case []int:
		return v
	case int:
		return []int{v}
	}
	return nil
}

// Words returns the values of a profile on an axis of OneOf.
func (p Profile) Words(f Field) []string {
	words, _ := p.values[f.Key].([]string)
	return words
}

// Setting is a field of a workload and its value at a point.
type Setting struct {
	Key   string
	Axis  bool // part of a cell's name even if the profile has only one value
	Value any
}

// Own returns the settings of the workload's own fields at one of the Points, such as the readers of a read/write lock. It does not include what every load
// has: the variant, the sessions and the rate.
func (p Profile) Own() []Setting {
	w := p.workload()
	if w == nil {
		return nil
	}
	var own []Setting
	values := p.Values()
	for _, f := range w.Fields {
		if value, given := values[f.Key]; given {
			own = append(own, Setting{f.Key, f.Axis && !f.Aside, value})
		}
	}
	return own
}

// Meaning says what the value of a field means to a result, if it is not just part of the load.
type Meaning struct {
	Key    string
	Role   string
	Unit   string
	Text   string // what a report shows instead of the key and the value
	Caveat string // why cells with the value are not compared
}

// Meanings returns the meanings of the fields of one of the Points.
func (p Profile) Meanings() (all []Meaning) {
	for _, f := range p.workload().table() {
		value := f.get(p)
		if f.Axis && value.Len() > 0 {
			value = value.Index(0)
		}
		text := fmt.Sprint(value.Interface())
		m := Meaning{Key: f.Key, Role: string(f.Role), Unit: f.Unit, Caveat: f.Caveat[text]}
		if value.IsZero() {
			m.Text = f.Zero
		}
		switch {
		case value.Kind() == reflect.Map: // each of its keys is a parameter
			for _, key := range value.MapKeys() {
				all = append(all, Meaning{Key: f.Key + "." + key.String(), Role: m.Role})
			}
		case m != Meaning{Key: f.Key}:
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b Meaning) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// Varied reports whether a profile has several values on an axis of its workload's own fields.
func (p Profile) Varied(key string) bool {
	list := reflect.ValueOf(p.values[key])
	return list.Kind() == reflect.Slice && list.Len() > 1
}

// setDefault sets the field in p to its default. A test reads every default, so it cannot fail.
func (f Field) setDefault(p *Profile) {
	var n yaml.Node
	if f.Default == "" || yaml.Unmarshal([]byte(f.Default), &n) != nil {
		return
	}
	scratch := &reader{places: map[string][]Place{}, written: map[string]string{}}
	scratch.field(f, entry{key: f.Key, written: f.Key, at: Place{Line: 1}, value: n.Content[0]}, p)
}
