package profiles

import (
	"bytes"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// Marshal writes the whole profile, defaults included, as YAML that Parse reads back to an equal one.
func Marshal(p Profile) ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range fields() {
		if f.applies(p) && (f.def != "" || !reflect.ValueOf(f.at(&p)).Elem().IsZero()) {
			root.Content = append(root.Content, scalar("!!str", f.key), f.node(p))
		}
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	if err := encoder.Encode(root); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// node is the value of the field in p; a list of one is written as its item.
func (f field) node(p Profile) *yaml.Node {
	value := reflect.ValueOf(f.at(&p)).Elem()
	if !f.axis {
		return f.kind.write(value.Interface())
	}
	list := flow(yaml.SequenceNode)
	for i := range value.Len() {
		list.Content = append(list.Content, f.kind.write(value.Index(i).Interface()))
	}
	if len(list.Content) == 1 {
		return list.Content[0]
	}
	return list
}

// isDefault says whether the field of p is what it would be if it were not given.
func (f field) isDefault(p Profile) bool {
	value := reflect.ValueOf(f.at(&p)).Elem()
	if value.IsZero() && (f.def == "" || !f.applies(p)) {
		return true
	}
	fresh := Profile{Workload: p.Workload, Rate: p.Rate}
	if f.def == "" {
		return false
	}
	f.setDefault(&fresh)
	return reflect.DeepEqual(value.Interface(), reflect.ValueOf(f.at(&fresh)).Elem().Interface())
}
