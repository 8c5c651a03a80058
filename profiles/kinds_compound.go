package profiles

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// The kinds with a structure of their own.
type (
	distribution struct{} // of a duration
	mapping      struct{} // names to text
)

// shapes of a distribution beside the constant, and what each takes.
func shapes() map[string]string {
	return map[string]string{
		Constant: "{constant: 5ms}", Exponential: "{exponential: 5ms}",
		Uniform: "{uniform: [1ms, 10ms]}", Lognormal: "{lognormal: {mean: 5ms, sigma: 1}}",
	}
}

func (distribution) allowed(f field) string {
	return fmt.Sprintf("a duration from %s to %s, such as 5ms, {exponential: 5ms}, {uniform: [1ms, 10ms]} or "+
		"{lognormal: {mean: 5ms, sigma: 1}}", short(f.min), short(f.max))
}

func (k distribution) read(r *reader, f field, n *yaml.Node) (any, bool) {
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
	return nil, r.fault(shape, fmt.Sprintf("%s: no distribution is called %q; %s", f.key, shape.Value,
		didYouMean(shape.Value, known)))
}

func (distribution) uniform(r *reader, f field, n *yaml.Node) (any, bool) {
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

func (distribution) lognormal(r *reader, f field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.MappingNode {
		return nil, r.wrong(f, n, "lognormal takes a mean and a sigma")
	}
	d, seen, ok := Distribution{Kind: Lognormal}, map[string]bool{}, true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if seen[key.Value] {
			return nil, r.fault(key, fmt.Sprintf("%s: %s stands twice", f.key, key.Value))
		}
		seen[key.Value] = true
		switch key.Value {
		case "mean":
			var mean any
			if mean, ok = (span{}).read(r, f, value); !ok {
				return nil, false
			}
			d.Mean = mean.(time.Duration)
		case "sigma":
			sigma, err := strconv.ParseFloat(value.Value, 64)
			// Past 3 a single draw decides the mean of a run: e^3 is twenty times the median for one draw in six.
			if err != nil || value.Kind != yaml.ScalarNode || quoted(value) || !(sigma > 0 && sigma <= 3) {
				return nil, r.fault(value, fmt.Sprintf("%s: sigma %s is wrong; allowed is a number above 0 up to 3", f.key, shown(value)))
			}
			d.Sigma = sigma
		default:
			return nil, r.fault(key, fmt.Sprintf("%s: lognormal has no %s; %s", f.key, key.Value,
				didYouMean(key.Value, []string{"mean", "sigma"})))
		}
	}
	if !seen["mean"] || !seen["sigma"] {
		return nil, r.wrong(f, n, "lognormal takes a mean and a sigma")
	}
	return d, true
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
			scalar("!!str", "sigma"), scalar("!!float", strconv.FormatFloat(d.Sigma, 'g', -1, 64))))
	}
	return duration(d.Mean)
}

func (distribution) schema(f field) object {
	duration := span{}.schema(f)
	one := func(shape string, value object) object {
		return object{"type": "object", "properties": object{shape: value}, "required": []string{shape}, "additionalProperties": false}
	}
	return object{"oneOf": []any{duration, one(Constant, duration), one(Exponential, duration),
		one(Uniform, object{"type": "array", "items": duration, "minItems": 2, "maxItems": 2}),
		one(Lognormal, object{"type": "object", "additionalProperties": false, "required": []string{"mean", "sigma"},
			"properties": object{"mean": duration, "sigma": object{"type": "number", "exclusiveMinimum": 0, "maximum": 3}}}),
	}}
}

func (mapping) allowed(field) string { return "a map of names to values, such as {watch: exists}" }

func (k mapping) read(r *reader, f field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.MappingNode {
		return nil, r.wrong(f, n, shown(n)+" is not a map")
	}
	options, ok := map[string]string{}, true
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		_, isName := name{}.read(r, f, key)
		text, isText := any(nil), false
		if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
			r.fault(value, fmt.Sprintf("%s.%s: %s is not text; allowed is one word, number, or true or false", f.key, key.Value, shown(value)))
		} else {
			text, isText = prose{}.read(r, f, value)
		}
		if _, twice := options[key.Value]; twice {
			isName = r.fault(key, fmt.Sprintf("%s: %s stands twice", f.key, key.Value))
		}
		if ok = ok && isName && isText; ok {
			options[key.Value] = text.(string)
			r.places[f.key+"."+key.Value] = []Place{r.place(value)}
		}
	}
	if len(options) == 0 {
		options = nil // a map without names is none
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

func (mapping) schema(field) object {
	return object{"type": "object", "propertyNames": object{"pattern": namePattern},
		"additionalProperties": object{"type": []string{"string", "number", "boolean"}}}
}

// flow is a list or a map on one line.
func flow(kind yaml.Kind, content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: kind, Style: yaml.FlowStyle, Content: content}
}
