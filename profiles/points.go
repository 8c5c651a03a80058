package profiles

import "reflect"

// Points are the loads that a profile names: for every combination of the values of its axes one profile in which each of these lists
// has a single value. The first axis of the table in fields.go turns slowest. Repetitions are not told apart.
func (p Profile) Points() []Profile {
	points := []Profile{p}
	for _, f := range fields() {
		if !f.axis || !f.belongs(p.Workload) {
			continue
		}
		var next []Profile
		for _, q := range points {
			values := reflect.ValueOf(f.at(&q)).Elem()
			if values.Len() == 0 {
				next = append(next, q)
			}
			for i := range values.Len() {
				one := q
				reflect.ValueOf(f.at(&one)).Elem().Set(reflect.Append(reflect.Zero(values.Type()), values.Index(i)))
				next = append(next, one)
			}
		}
		points = next
	}
	return points
}

// Setting is a key of a profile and one value of it.
type Setting struct {
	Key   string
	Value any
}

// Own are the settings of one of the Points that only workloads of its kind have as axes, such as the readers of a read/write lock.
// What every load has, the variant, the sessions and the rate, is not among them.
func (p Profile) Own() []Setting {
	var own []Setting
	for _, f := range fields() {
		if !f.axis || f.workloads == nil || !f.belongs(p.Workload) {
			continue
		}
		values := reflect.ValueOf(f.at(&p)).Elem()
		for i := range values.Len() {
			own = append(own, Setting{f.key, values.Index(i).Interface()})
		}
	}
	return own
}
