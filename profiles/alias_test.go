package profiles

import (
	"slices"
	"strings"
	"testing"
)

func TestClientsAreTheSessionsOfABarrier(t *testing.T) {
	const barrier = "workload: double-barrier\nvariants: double-barrier\n"
	p, err := Parse("p.yaml", []byte("clients: [50, 100]\n"+barrier))
	if err != nil || !slices.Equal(p.Sessions, []int{50, 100}) || !slices.Equal(p.Barriers, []int{100}) {
		t.Fatalf("sessions %v, barriers %v, %v", p.Sessions, p.Barriers, err)
	}
	p, err = Set(p, "clients=[7,9]", "barriers=[200,400]")
	if err != nil || !slices.Equal(p.Sessions, []int{7, 9}) || !slices.Equal(p.Barriers, []int{200, 400}) {
		t.Errorf("sessions %v, barriers %v, %v", p.Sessions, p.Barriers, err)
	}
	for _, tt := range []struct{ why, text, fault string }{
		{"both", barrier + "clients: 5\nsessions: 6", "p.yaml:4:1: sessions stands twice, first in line 3"},
		{"a lock has none", "workload: lock\nvariants: naive\nclients: 5", `"clients" is no key of a profile`},
		{"it lasts until its work is done", barrier + "clients: 5\nduration: 5s", "p.yaml:4:1: duration does not belong to the workload double-barrier"},
		{"nobody would wait", "workload: barrier\nvariants: barrier\nclients: 1", "p.yaml:3:10: sessions: one session sets the barrier"},
	} {
		if _, err := Parse("p.yaml", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s: %v, want %s", tt.why, err, tt.fault)
		}
	}
}
