package capacity

import (
	"reflect"
	"testing"
)

// Blocks of several load generators add up to those of one, as far as all of them have counted.
func TestBlocksAddUp(t *testing.T) {
	first := []Block{{Seconds: 2, Due: 10, Done: 9, Stuck: 1, Over: []int{2, 0}, Mean: 10, Ended: 8, Mark: "m"}, {Seconds: 2, Due: 5, Over: []int{5, 1}},
		{Seconds: 2, Due: 7, Over: []int{0, 0}}}
	second := []Block{{Seconds: 2, Due: 30, Done: 31, Over: []int{1, 1}, Mean: 30, Ended: 24}, {Seconds: 2, Due: 6, Stuck: 2, Over: []int{6, 0}}}
	want := []Block{{Seconds: 2, Due: 40, Done: 40, Stuck: 1, Over: []int{3, 1}, Mean: 25, Ended: 32, Mark: "m"}, {Seconds: 2, Due: 11, Stuck: 2, Over: []int{11, 1}}}
	if got := Together(first, second); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := Together(first); !reflect.DeepEqual(got, first) {
		t.Errorf("alone: %+v", got)
	}
	if first[0].Over[0] != 2 {
		t.Error("what was added up has changed")
	}
}
