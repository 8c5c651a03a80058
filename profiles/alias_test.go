package profiles

import (
	"slices"
	"strings"
	"testing"
)

func TestClientsAreTheSessionsOfABarrier(t *testing.T) {
	const barrier = "workload: double-barrier\nvariants: double-barrier\n"
	p, err := catalogue.Parse("p.yaml", []byte("clients: [50, 100]\n"+barrier))
	if err != nil || !slices.Equal(p.Sessions, []int{50, 100}) || !slices.Equal(p.Ints(testBarriers), []int{100}) {
		t.Fatalf("sessions %v, barriers %v, %v", p.Sessions, p.Ints(testBarriers), err)
	}
	p, err = Set(p, "clients=[7,9]", "barriers=[200,400]")
	if err != nil || !slices.Equal(p.Sessions, []int{7, 9}) || !slices.Equal(p.Ints(testBarriers), []int{200, 400}) {
		t.Errorf("sessions %v, barriers %v, %v", p.Sessions, p.Ints(testBarriers), err)
	}
	for _, tt := range []struct{ why, text, fault string }{
		{"both", barrier + "clients: 5\nsessions: 6", "p.yaml:4:1: sessions: duplicate field, first given in line 3 as clients"},
		{"a lock has none", "workload: lock\nvariants: naive\nclients: 5", "p.yaml:3:1: clients: not a field of workload lock (only of double-barrier)"},
		{"it lasts until its work is done", barrier + "clients: 5\nduration: 5s", "p.yaml:4:1: duration: not a field of workload double-barrier, which ends when each client has passed its barriers"},
	} {
		if _, err := catalogue.Parse("p.yaml", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s: %v, want %s", tt.why, err, tt.fault)
		}
	}
}
