package profiles

import (
	"strings"
	"testing"
	"time"
)

func mustParse(t *testing.T, yaml string) Profile {
	t.Helper()
	p, err := catalogue.Parse("p.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSet(t *testing.T) {
	p := mustParse(t, least+"hold: 5ms\noptions: {watch: exists, layout: kazoo}\n")
	next, err := Set(p, "locks=20", "sessions=[100,20]", "rate=200", "options.watch=data", "seed=7", "seed=8")
	if err != nil {
		t.Fatal(err)
	}
	if next.Values().Int(testObjects) != 20 || len(next.Sessions) != 2 || next.Sessions[1] != 20 || next.Rate[0] != 200 || next.Arrivals != "poisson" ||
		next.Think != (Distribution{}) || next.Values().Distribution(testHold).Mean != 5*time.Millisecond || next.Seed != 8 ||
		next.Options["watch"] != "data" || next.Options["layout"] != "kazoo" {
		t.Errorf("Set = %+v", next)
	}
	if p.Values().Int(testObjects) != 1 || p.Options["watch"] != "exists" || len(p.Sessions) != 1 {
		t.Errorf("Set changed the profile that it was given: %+v", p)
	}
	for key, want := range map[string]string{"sessions": "--set sessions", "hold": "p.yaml:4:7", "options.watch": "--set options.watch",
		"options.layout": "p.yaml:5:34", "variants": "p.yaml:2:11"} {
		if got := next.At(key, 0); got != want {
			t.Errorf("after Set, At(%s, 0) = %s, want %s", key, got, want)
		}
	}
	moved, err := Set(p, "queues=3", "workload=queue") // the workload determines what an alias means, wherever it is set
	if err != nil || moved.Workload != "queue" || moved.Values().Int(testObjects) != 3 {
		t.Errorf("Set of the workload after an alias of its = %+v, %v", moved, err)
	}
	twice, err := Set(next, "locks=5")
	if err != nil || twice.At("sessions", 1) != "--set sessions" || twice.At("hold", 0) != "p.yaml:4:7" || twice.Values().Int(testObjects) != 5 {
		t.Errorf("Set(Set(p)) = %+v, %v: the places of the first are lost", twice, err)
	}
}

func TestSetFaults(t *testing.T) {
	p := mustParse(t, least+"locks: 5\nthink: 1s\n")
	for _, c := range []struct {
		sentence    string
		assignments []string
		want        string
	}{
		{"no value", []string{"sessions"}, `--set sessions: "sessions" is not an assignment (expected key=value, such as sessions=[10,100])`},
		{"an empty value", []string{"sessions="}, "--set sessions: no value"},
		{"not YAML", []string{"sessions=[10"}, "--set sessions: invalid YAML: "},
		{"an unknown key", []string{"session=10"}, `--set session: unknown field "session" (did you mean sessions?)`},
		{"a wrong value", []string{"hold=5"}, "--set hold: 5 has no unit, did you mean 5ms?"},
		{"a wrong option", []string{"options.watch=[a]"}, "--set options.watch: a list is not text"},
		{"too few sessions for the locks of the file", []string{"sessions=4"}, "p.yaml:4:8: locks: 5 need as many sessions, got 4"},
		{"too many locks for the sessions of the file", []string{"locks=40"}, "--set locks: 40 need as many sessions, got 10"},
		{"a rate where the file thinks", []string{"rate=5"}, "p.yaml:5:8: think: cannot be combined with rate"},
		{"another workload", []string{"workload=queue"}, "p.yaml:4:8: locks: not a field of workload queue"},
		{"an unknown workload", []string{"workload=queues"}, `--set workload: unknown workload "queues" (did you mean queue?)`},
		{"two faults", []string{"hold=5", "locks=many"}, `--set locks: "many" is not`},
	} {
		_, err := Set(p, c.assignments...)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: Set(p, %q) = %v, want %s", c.sentence, c.assignments, err, c.want)
		} else if faults := err.(Faults); len(faults) != len(c.assignments) {
			t.Errorf("%s: Set(p, %q) = %v, want one fault for each assignment", c.sentence, c.assignments, err)
		}
	}
	if _, err := Set(Profile{Name: "literal", Workload: "lock"}); err == nil || !strings.Contains(err.Error(), "profile: variants: required field is missing") {
		t.Errorf("Set of a literal without variants = %v", err)
	}
}
