package profiles

import (
	"fmt"
	"slices"
	"testing"
)

func TestPoints(t *testing.T) {
	p := Profile{Workload: "read-write", Variants: []string{"a", "b"}, Sessions: []int{1, 2}, Readers: []int{0, 50}, Repetitions: 3}
	var got []string
	for _, q := range p.Points() {
		got = append(got, fmt.Sprint(q.Variants, q.Sessions, q.Readers, q.Rate, q.Repetitions, q.Own()))
	}
	want := []string{
		"[a] [1] [0] [] 3 [{readers 0}]", "[a] [1] [50] [] 3 [{readers 50}]", "[a] [2] [0] [] 3 [{readers 0}]", "[a] [2] [50] [] 3 [{readers 50}]",
		"[b] [1] [0] [] 3 [{readers 0}]", "[b] [1] [50] [] 3 [{readers 50}]", "[b] [2] [0] [] 3 [{readers 0}]", "[b] [2] [50] [] 3 [{readers 50}]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("points are\n%q, want\n%q", got, want)
	}
	if !slices.Equal(p.Sessions, []int{1, 2}) {
		t.Error("Points changed the profile itself")
	}
	if lock := (Profile{Workload: "lock", Variants: []string{"a"}, Sessions: []int{1}, Readers: []int{0, 50}}).Points(); len(lock) != 1 || lock[0].Own() != nil {
		t.Errorf("an axis of another workload counts: %v", lock)
	}
}
