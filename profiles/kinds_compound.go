package profiles

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// The types with a structure.
type (
	distribution struct{} // of a duration
	mapping      struct{} // names to text
)

// shapes returns the kinds of distributions with an example of each.
func shapes() map[string]string {
	return map[string]string{
		Constant: "{constant: 5ms}", Exponential: "{exponential: 5ms}",
		Uniform: "{uniform: [1ms, 10ms]}", Lognormal: "{lognormal: {mean: 5ms, sigma: 1}}",
	}
}

func (distribution) allowed(f Field) string {
	return fmt.Sprintf("a duration from %s to %s, such as 5ms, {exponential: 5ms}, {uniform: [1ms, 10ms]} or "+
		"{lognormal: {mean: 5ms, sigma: 1}}", short(f.Min), short(f.Max))
}

func (k distribution) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind == yaml.ScalarNode {
		mean, ok := span{}.read(r, f, n)
		if !ok {
			return nil, false
		}
		return Distribution{Kind: Constant, Mean: mean.(time.Duration)}, true
	}
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
		return nil, r.wrong(f, n, shown(n)+" is not one distribution")
	}
	shape, value := n.Content[0], n.Content[1]
	switch shape.Value {
	case Constant, Exponential:
		mean, ok := span{}.read(r, f, value)
		if !ok {
			return nil, false
		}
		return Distribution{Kind: shape.Value, Mean: mean.(time.Duration)}, true
	case Uniform:
		return k.uniform(r, f, value)
	case Lognormal:
		return k.lognormal(r, f, value)
	}
	known := slices.Sorted(maps.Keys(shapes()))
	return nil, r.fault(shape, fmt.Sprintf("%s: unknown distribution %q (%s)", f.Key, shape.Value, didYouMean(shape.Value, known)))
}

func (distribution) uniform(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		return nil, r.wrong(f, n, "uniform takes the shortest and the longest duration")
	}
	low, okLow := span{}.read(r, f, n.Content[0])
	high, okHigh := span{}.read(r, f, n.Content[1])
	if !okLow || !okHigh {
		return nil, false
	}
	d := Distribution{Kind: Uniform, Min: low.(time.Duration), Max: high.(time.Duration)}
	if d.Min > d.Max {
		return nil, r.wrong(f, n, fmt.Sprintf("uniform from %v down to %v is empty", d.Min, d.Max))
	}
	return d, true
}

func (distribution) lognormal(r *reader, f Field, n *yaml.Node) (any, bool) {
	mean, sigma, ok := lognormal(r, f, n, span{})
	if !ok {
		return nil, false
	}
	return Distribution{Kind: Lognormal, Mean: mean.(time.Duration), Sigma: sigma}, true
}

// lognormal reads the parameters of a lognormal distribution whose mean is of the given type.
func lognormal(r *reader, f Field, n *yaml.Node, of Type) (mean any, sigma float64, ok bool) {
	if n.Kind != yaml.MappingNode {
		return nil, 0, r.wrong(f, n, "lognormal takes a mean and a sigma")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if seen[key.Value] {
			return nil, 0, r.fault(key, fmt.Sprintf("%s: duplicate value %s", f.Key, key.Value))
		}
		seen[key.Value] = true
		switch key.Value {
		case "mean":
			if mean, ok = of.read(r, f, value); !ok {
				return nil, 0, false
			}
		case "sigma":
			var err error
			sigma, err = strconv.ParseFloat(value.Value, 64)
			// Above 3 a single draw decides the mean of a run: e^3 is twenty times the median for one draw in six.
			if err != nil || value.Kind != yaml.ScalarNode || quoted(value) || !(sigma > 0 && sigma <= 3) {
				return nil, 0, r.fault(value, fmt.Sprintf("%s: sigma must be a number above 0 and at most 3, got %s", f.Key, shown(value)))
			}
		default:
			return nil, 0, r.fault(key, fmt.Sprintf("%s: unknown field %q of lognormal (%s)", f.Key, key.Value,
				didYouMean(key.Value, []string{"mean", "sigma"})))
		}
	}
	if !seen["mean"] || !seen["sigma"] {
		return nil, 0, r.wrong(f, n, "lognormal takes a mean and a sigma")
	}
	return mean, sigma, true
}

func (distribution) write(value any) *yaml.Node {
	d := value.(Distribution)
	duration := func(v time.Duration) *yaml.Node { return span{}.write(v) }
	switch d.Kind {
	case Exponential:
		return flow(yaml.MappingNode, scalar("!!str", d.Kind), duration(d.Mean))
	case Uniform:
		return flow(yaml.MappingNode, scalar("!!str", d.Kind), flow(yaml.SequenceNode, duration(d.Min), duration(d.Max)))
	case Lognormal:
		return flow(yaml.MappingNode, scalar("!!str", d.Kind), flow(yaml.MappingNode, scalar("!!str", "mean"), duration(d.Mean),
			scalar("!!str", "sigma"), decimal(d.Sigma)))
	}
	return duration(d.Mean)
}

func (distribution) schema(f Field) object {
	duration := span{}.schema(f)
	return object{"oneOf": []any{duration, only(Constant, duration), only(Exponential, duration),
		only(Uniform, object{"type": "array", "items": duration, "minItems": 2, "maxItems": 2}), only(Lognormal, lognormalSchema(duration))}}
}

// lognormalSchema returns the schema of the parameters of a lognormal distribution.
func lognormalSchema(mean object) object {
	return object{"type": "object", "additionalProperties": false, "required": []string{"mean", "sigma"},
		"properties": object{"mean": mean, "sigma": object{"type": "number", "exclusiveMinimum": 0, "maximum": 3}}}
}

func (mapping) allowed(Field) string { return "a map of names to values, such as {watch: exists}" }

func (k mapping) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.MappingNode {
		return nil, r.wrong(f, n, shown(n)+" is not a map")
	}
	options, ok := map[string]string{}, true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		_, isName := name{}.read(r, f, key)
		text, isText := any(nil), false
		if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
			r.fault(value, fmt.Sprintf("%s.%s: %s is not text (expected one word, a number, true or false)", f.Key, key.Value, shown(value)))
		} else {
			text, isText = prose{}.read(r, f, value)
		}
		if _, twice := options[key.Value]; twice {
			isName = r.fault(key, fmt.Sprintf("%s: duplicate value %s", f.Key, key.Value))
		}
		if ok = ok && isName && isText; ok {
			options[key.Value] = text.(string)
			r.places[f.Key+"."+key.Value] = []Place{r.place(value)}
		}
	}
	if len(options) == 0 {
		options = nil // an empty map counts as none
	}
	return options, ok
}

func (mapping) write(value any) *yaml.Node {
	options := value.(map[string]string)
	n := flow(yaml.MappingNode)
	for _, key := range slices.Sorted(maps.Keys(options)) {
		n.Content = append(n.Content, scalar("!!str", key), scalar("!!str", options[key]))
	}
	return n
}

func (mapping) schema(Field) object {
	return object{"type": "object", "propertyNames": object{"pattern": namePattern},
		"additionalProperties": object{"type": []string{"string", "number", "boolean"}}}
}

// flow returns a list or a map on one line.
func flow(kind yaml.Kind, content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: kind, Style: yaml.FlowStyle, Content: content}
}

// decimal returns a number that is written with a decimal point, so that it needs no tag.
func decimal(v float64) *yaml.Node {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if v == math.Trunc(v) {
		text += ".0"
	}
	return scalar("!!float", text)
}
