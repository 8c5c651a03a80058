package profiles

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// Values are what one point of a profile gives to the fields that its workload has of its own, by key. A field that is not among them has
// its default. Reading is safe for concurrent use.
type Values map[string]any

// Values of a point: an axis has one value.
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

// Int is the value of a WholeNumber.
func (v Values) Int(f Field) int { return valueOf[int](v, f) }

// Share is the value of a WholeNumber of percent, from 0 to 1.
func (v Values) Share(f Field) float64 { return float64(v.Int(f)) / 100 }

// Word is the value of a OneOf.
func (v Values) Word(f Field) string { return valueOf[string](v, f) }

// Distribution is the value of a DurationDistribution.
func (v Values) Distribution(f Field) Distribution { return valueOf[Distribution](v, f) }

// Shares is the value of WordShares.
func (v Values) Shares(f Field) Shares { return valueOf[Shares](v, f) }

// Sizes is the value of a SizeDistribution.
func (v Values) Sizes(f Field) Sizes { return valueOf[Sizes](v, f) }

// Popularity is the value of a KeyPopularity.
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

// Ints are the values that a profile has on an axis of WholeNumbers; of a field that is no axis the one value.
func (p Profile) Ints(f Field) []int {
	switch v := p.values[f.Key].(type) {
	case []int:
		return v
	case int:
		return []int{v}
	}
	return nil
}

// Words are the values that a profile has on an axis of OneOf.
func (p Profile) Words(f Field) []string {
	words, _ := p.values[f.Key].([]string)
	return words
}

// Setting is a field of a workload and its value at a point.
type Setting struct {
	Key   string
	Axis  bool // names a cell though the profile may have one value
	Value any
}

// Own are the settings of one of the Points that its workload has of its own, such as the readers of a read/write lock. What every load
// has, the variant, the sessions and the rate, is not among them.
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

// Varied reports whether a profile has several values on an axis that its workload has of its own.
func (p Profile) Varied(key string) bool {
	list := reflect.ValueOf(p.values[key])
	return list.Kind() == reflect.Slice && list.Len() > 1
}

// setDefault puts the default of the field into p; a test reads every default, so it cannot fail.
func (f Field) setDefault(p *Profile) {
	var n yaml.Node
	if f.Default == "" || yaml.Unmarshal([]byte(f.Default), &n) != nil {
		return
	}
	scratch := &reader{places: map[string][]Place{}, written: map[string]string{}}
	scratch.field(f, entry{key: f.Key, written: f.Key, at: Place{Line: 1}, value: n.Content[0]}, p)
}
