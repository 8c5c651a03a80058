package profiles

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The types of what a load draws.
type (
	shares     struct{} // of the field's words
	sizes      struct{} // in bytes
	popularity struct{} // of keys
)

func (shares) allowed(f Field) string {
	return "weights of some of " + strings.Join(f.Words, ", ") + ", such as {" + f.Words[0] + ": 80, " + f.Words[1] + ": 20}"
}

func (k shares) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.MappingNode {
		return nil, r.wrong(f, n, shown(n)+" is not a map")
	}
	weights, sum, ok := map[string]uint64{}, uint64(0), true
	weight := Field{Key: f.Key, Type: whole{}, Max: 1e6}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if !slices.Contains(f.Words, key.Value) {
			ok = r.fault(key, fmt.Sprintf("%s: unknown operation %q (%s)", f.Key, key.Value, didYouMean(key.Value, f.Words)))
			continue
		}
		if _, twice := weights[key.Value]; twice {
			ok = r.fault(key, fmt.Sprintf("%s: duplicate value %s", f.Key, key.Value))
			continue
		}
		v, good := whole{}.read(r, weight, n.Content[i+1])
		if ok = ok && good; good {
			weights[key.Value] = v.(uint64)
			sum += v.(uint64)
		}
	}
	if ok && sum == 0 {
		return nil, r.wrong(f, n, "no weight is above 0")
	}
	var words []string
	for _, word := range f.Words {
		if weights[word] > 0 {
			words = append(words, fmt.Sprintf("%s %d", word, weights[word]))
		}
	}
	return Shares(strings.Join(words, ", ")), ok
}

func (shares) write(value any) *yaml.Node {
	n := flow(yaml.MappingNode)
	for _, part := range strings.Split(string(value.(Shares)), ", ") {
		word, weight, _ := strings.Cut(part, " ")
		n.Content = append(n.Content, scalar("!!str", word), scalar("!!int", weight))
	}
	return n
}

func (shares) schema(f Field) object {
	words := object{}
	for _, word := range f.Words {
		words[word] = object{"type": "integer", "minimum": 0, "maximum": 1000000}
	}
	return object{"type": "object", "properties": words, "additionalProperties": false}
}

func (sizes) allowed(f Field) string {
	return fmt.Sprintf("bytes from %s to %s, such as 1024, {uniform: [10, 1000]}, {lognormal: {mean: 1000, sigma: 1}} or {list: [100, 1000]}", grouped(f.Min), grouped(f.Max))
}

func (k sizes) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind == yaml.ScalarNode {
		size, ok := k.size(r, f, n)
		return Sizes{Kind: Constant, Mean: size}, ok
	}
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
		return nil, r.wrong(f, n, shown(n)+" is not one distribution")
	}
	shape, value := n.Content[0], n.Content[1]
	var all []int
	switch shape.Value {
	case Constant:
		return k.read(r, f, value)
	case Lognormal:
		mean, sigma, ok := lognormal(r, f, value, whole{})
		if !ok {
			return nil, false
		}
		return Sizes{Kind: Lognormal, Mean: int(mean.(uint64)), Sigma: sigma, Max: int(f.Max)}, true
	case Uniform, List:
		if value.Kind != yaml.SequenceNode || len(value.Content) == 0 || len(value.Content) > maxListed {
			return nil, r.wrong(f, value, fmt.Sprintf("%s takes a list of at most %d sizes", shape.Value, maxListed))
		}
		for _, item := range value.Content {
			size, ok := k.size(r, f, item)
			if !ok {
				return nil, false
			}
			all = append(all, size)
		}
	default:
		return nil, r.fault(shape, fmt.Sprintf("%s: unknown distribution %q (%s)", f.Key, shape.Value,
			didYouMean(shape.Value, []string{Constant, List, Lognormal, Uniform})))
	}
	if shape.Value == List {
		s := Sizes{Kind: List, N: len(all)}
		copy(s.Listed[:], all)
		return s, true
	}
	if len(all) != 2 || all[0] > all[1] {
		return nil, r.wrong(f, value, "uniform takes the smallest and the largest size")
	}
	return Sizes{Kind: Uniform, Min: all[0], Max: all[1]}, true
}

func (sizes) size(r *reader, f Field, n *yaml.Node) (int, bool) {
	v, ok := whole{}.read(r, f, n)
	if !ok {
		return 0, false
	}
	return int(v.(uint64)), true
}

func (sizes) write(value any) *yaml.Node {
	s := value.(Sizes)
	size := func(v int) *yaml.Node { return scalar("!!int", strconv.Itoa(v)) }
	switch s.Kind {
	case Uniform:
		return flow(yaml.MappingNode, scalar("!!str", s.Kind), flow(yaml.SequenceNode, size(s.Min), size(s.Max)))
	case Lognormal:
		return flow(yaml.MappingNode, scalar("!!str", s.Kind), flow(yaml.MappingNode, scalar("!!str", "mean"), size(s.Mean),
			scalar("!!str", "sigma"), decimal(s.Sigma)))
	case List:
		list := flow(yaml.SequenceNode)
		for _, n := range s.Listed[:s.N] {
			list.Content = append(list.Content, size(n))
		}
		return flow(yaml.MappingNode, scalar("!!str", s.Kind), list)
	}
	return size(s.Mean)
}

func (sizes) schema(f Field) object {
	size := whole{}.schema(f)
	return object{"oneOf": []any{size, only(Constant, size),
		only(Uniform, object{"type": "array", "items": size, "minItems": 2, "maxItems": 2}),
		only(List, object{"type": "array", "items": size, "minItems": 1, "maxItems": maxListed}),
		only(Lognormal, lognormalSchema(size))}}
}

func (popularity) allowed(Field) string {
	return "uniform, {zipf: 0.99} or {hot: {keys: 10, share: 90}}"
}

func (k popularity) read(r *reader, f Field, n *yaml.Node) (any, bool) {
	if n.Kind == yaml.ScalarNode && n.Value == Uniform {
		return Popularity{Kind: Uniform}, true
	}
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
		return nil, r.wrong(f, n, shown(n)+" is not one of these")
	}
	switch shape, value := n.Content[0].Value, n.Content[1]; shape {
	case Zipf:
		skew, err := strconv.ParseFloat(value.Value, 64)
		if err != nil || value.Kind != yaml.ScalarNode || quoted(value) || !(skew > 0 && skew <= 5) {
			return nil, r.fault(value, fmt.Sprintf("%s: zipf must be a number above 0 and at most 5, got %s", f.Key, shown(value)))
		}
		return Popularity{Kind: Zipf, Skew: skew}, true
	case HotSet:
		return k.hot(r, f, value)
	}
	return nil, r.wrong(f, n, fmt.Sprintf("unknown %q", n.Content[0].Value))
}

func (popularity) hot(r *reader, f Field, n *yaml.Node) (any, bool) {
	got, bounds := map[string]int{}, map[string]Field{"keys": {Key: f.Key + " keys", Type: whole{}, Min: 1, Max: 1e6}, "share": {Key: f.Key + " share", Type: whole{}, Min: 1, Max: 100}}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			bound, known := bounds[n.Content[i].Value]
			if !known {
				return nil, r.fault(n.Content[i], fmt.Sprintf("%s: unknown field %q of hot (%s)", f.Key, n.Content[i].Value, didYouMean(n.Content[i].Value, []string{"keys", "share"})))
			}
			v, ok := whole{}.read(r, bound, n.Content[i+1])
			if !ok {
				return nil, false
			}
			got[n.Content[i].Value] = int(v.(uint64))
		}
	}
	if got["keys"] == 0 || got["share"] == 0 || len(n.Content) != 4 {
		return nil, r.wrong(f, n, "hot takes keys, a number of them, and share, per cent of the draws")
	}
	return Popularity{Kind: HotSet, Keys: got["keys"], Share: got["share"]}, true
}

func (popularity) write(value any) *yaml.Node {
	switch p := value.(Popularity); p.Kind {
	case Zipf:
		return flow(yaml.MappingNode, scalar("!!str", Zipf), decimal(p.Skew))
	case HotSet:
		return flow(yaml.MappingNode, scalar("!!str", HotSet), flow(yaml.MappingNode, scalar("!!str", "keys"), scalar("!!int", strconv.Itoa(p.Keys)),
			scalar("!!str", "share"), scalar("!!int", strconv.Itoa(p.Share))))
	}
	return scalar("!!str", Uniform)
}

func (popularity) schema(Field) object {
	return object{"oneOf": []any{object{"enum": []string{Uniform}},
		only(Zipf, object{"type": "number", "exclusiveMinimum": 0, "maximum": 5}),
		only(HotSet, object{"type": "object", "additionalProperties": false, "required": []string{"keys", "share"}, "properties": object{
			"keys":  object{"type": "integer", "minimum": 1, "maximum": 1000000},
			"share": object{"type": "integer", "minimum": 1, "maximum": 100}}})}}
}

// only returns the schema of a map with one key.
func only(key string, value object) object {
	return object{"type": "object", "properties": object{key: value}, "required": []string{key}, "additionalProperties": false}
}
