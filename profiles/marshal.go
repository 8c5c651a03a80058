package profiles

import (
	"bytes"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// Marshal returns the whole profile, defaults included, as YAML. Parse reads it back to an equal profile.
func Marshal(p Profile) ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range p.workload().table() {
		if f.applies(p) && (f.Default != "" || !f.get(p).IsZero()) {
			root.Content = append(root.Content, scalar("!!str", f.Key), f.node(p))
		}
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	if err := encoder.Encode(root); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// node returns the value of the field in p; a list of one is written as its item.
func (f Field) node(p Profile) *yaml.Node {
	value := f.get(p)
	if !f.Axis {
		return f.Type.write(value.Interface())
	}
	list := flow(yaml.SequenceNode)
	for i := range value.Len() {
		list.Content = append(list.Content, f.Type.write(value.Index(i).Interface()))
	}
	if len(list.Content) == 1 {
		return list.Content[0]
	}
	return list
}

// isDefault reports whether the field of p has the value that it would have if it were not given.
func (f Field) isDefault(p Profile) bool {
	value := f.get(p)
	if value.IsZero() && (f.Default == "" || !f.applies(p)) {
		return true
	}
	if f.Default == "" {
		return false
	}
	var fresh Profile
	f.setDefault(&fresh)
	return reflect.DeepEqual(value.Interface(), f.get(fresh).Interface())
}
