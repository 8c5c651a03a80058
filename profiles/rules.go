package profiles

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// required keys, in the order of the table.
func required() []string {
	var all []string
	for _, f := range fields() {
		if f.must {
			all = append(all, f.key)
		}
	}
	return all
}

// applies says whether the field means anything in p: by workload, and by the loop.
func (f field) applies(p Profile) bool {
	return f.belongs(p.Workload) && (f.needs == "" || isGiven(p, f.needs)) && (f.excludes == "" || !isGiven(p, f.excludes))
}

// isGiven says whether the value of key is anything but zero.
func isGiven(p Profile, key string) bool {
	for _, f := range fields() {
		if f.key == key {
			return !reflect.ValueOf(f.at(&p)).Elem().IsZero()
		}
	}
	return false
}

// setDefault puts the default of the table into p; a test reads every default, so it cannot fail.
func (f field) setDefault(p *Profile) {
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(f.def), &n); err != nil {
		return
	}
	scratch := &reader{places: map[string][]Place{}}
	scratch.field(f, entry{key: f.key, at: Place{Line: 1}, value: n.Content[0]}, p)
}

// rules reports keys that are missing, and keys that do not belong beside the others.
func (r *reader) rules(table []field, given []entry, start Place, p *Profile, read map[string]bool) {
	at := func(place Place, format string, args ...any) {
		r.faults = append(r.faults, Fault{place, fmt.Sprintf(format, args...)})
	}
	has := func(key string) bool { return slices.ContainsFunc(given, func(e entry) bool { return e.key == key }) }
	known := keys(table, workloadOf(given))
	misspelt := func(key string) bool { // reported already, as an unknown key
		return slices.ContainsFunc(given, func(e entry) bool {
			return e.key != key && Nearest(e.key, known) == key && !slices.Contains(known, e.key)
		})
	}
	for _, f := range table {
		i := slices.IndexFunc(given, func(e entry) bool { return e.key == f.key })
		if i < 0 {
			if f.must && f.belongs(p.Workload) && !misspelt(f.key) {
				at(start, "%s is missing; give one, such as %s: %s", f.key, f.key, f.example)
			}
			continue
		}
		place := given[i].at
		switch {
		case slices.Contains(f.unlike, p.Workload) && slices.Contains(known, "barriers"):
			at(place, "%s does not belong to the workload %s; that one lasts until each client has passed its barriers", f.key, p.Workload)
		case slices.Contains(f.unlike, p.Workload) && slices.Contains(known, "transactions"):
			at(place, "%s does not belong to the workload %s; that one lasts until each group has carried out its transactions", f.key, p.Workload)
		case slices.Contains(f.unlike, p.Workload):
			at(place, "%s does not belong to the workload %s; it describes a load, and that one has none", f.key, p.Workload)
		case read["workload"] && !f.belongs(p.Workload):
			at(place, "%s does not belong to the workload %s; it is a key of %s", f.key, p.Workload, strings.Join(f.workloads, ", "))
		case f.needs != "" && !has(f.needs):
			at(place, "%s means something only beside %s; leave it out, or give %s", f.key, f.needs, f.needs)
		case f.excludes != "" && has(f.excludes):
			at(place, "%s and %s exclude each other; leave one of them out", f.key, f.excludes)
		}
	}
}

// counts reports numbers that are right alone and wrong together.
func (r *reader) counts(p Profile, start Place) {
	place := func(key string) Place {
		if places := r.places[key]; len(places) > 0 {
			return places[0]
		}
		return start
	}
	if len(p.Sessions) == 0 {
		return
	}
	if least := slices.Min(p.Sessions); p.Locks > least {
		r.faults = append(r.faults, Fault{place("locks"), fmt.Sprintf(
			"locks: %d locks for %d sessions leave locks that nobody asks for; allowed is at most the smallest number of sessions, %d",
			p.Locks, least, least)})
	}
	if i := slices.IndexFunc(p.Together, func(n int) bool { return n > p.Locks }); i >= 0 {
		at := place("together")
		if places := r.places["together"]; i < len(places) {
			at = places[i]
		}
		r.faults = append(r.faults, Fault{at, fmt.Sprintf("together: %d locks cannot be acquired together where there are %d; give locks, or allow fewer",
			p.Together[i], p.Locks)})
	}
	if least := slices.Min(p.Sessions); p.Queues > max(least/2, 1) {
		r.faults = append(r.faults, Fault{place("queues"), fmt.Sprintf(
			"queues: %d queues for %d sessions leave queues without a producer or a consumer; allowed is at most half the smallest number of "+
				"sessions, %d", p.Queues, least, max(least/2, 1))})
	}
	if i := slices.Index(p.Producers, 0); i >= 0 && p.Preload == 0 {
		at := place("producers")
		if places := r.places["producers"]; i < len(places) {
			at = places[i]
		}
		r.faults = append(r.faults, Fault{at, "producers: where nobody puts there is nothing to take; give preload, or allow a producer"})
	}
	if least := slices.Min(p.Sessions); p.Elections > least {
		r.faults = append(r.faults, Fault{place("elections"), fmt.Sprintf(
			"elections: %d elections for %d sessions leave elections without a candidate; allowed is at most the smallest number of sessions, %d",
			p.Elections, least, least)})
	}
	if least := slices.Min(p.Sessions); p.Counters > least {
		r.faults = append(r.faults, Fault{place("counters"), fmt.Sprintf(
			"counters: %d counters for %d sessions leave counters that nobody draws from; allowed is at most the smallest number of sessions, %d",
			p.Counters, least, least)})
	}
	for _, pair := range []struct {
		key string
		n   int
	}{{"groups", p.Groups}, {"settings", p.Settings}} {
		if least := slices.Min(p.Sessions); pair.n > max(least/2, 1) {
			r.faults = append(r.faults, Fault{place(pair.key), fmt.Sprintf(
				"%s: %d %s for %d sessions leave some without who changes or who observes them; allowed is at most half the smallest number of "+
					"sessions, %d", pair.key, pair.n, pair.key, least, max(least/2, 1))})
		}
	}
	if least := slices.Min(p.Sessions); p.Workload == "revocation" && least < 2*p.Locks {
		r.faults = append(r.faults, Fault{place("sessions"), fmt.Sprintf(
			"sessions: a revocation needs one session at each lock that asks and one that is asked; allowed is at least %d for %d locks, not %d",
			2*p.Locks, p.Locks, least)})
	}
	if least := slices.Min(p.Sessions); p.Workload == "barrier" && least < 2 {
		r.faults = append(r.faults, Fault{place("sessions"), fmt.Sprintf(
			"sessions: one session sets the barrier and the others wait at it; allowed is at least 2, not %d", least)})
	}
}
