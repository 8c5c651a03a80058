package workloads

import "testing"

// The rounds that one session leaves undone are not credited to the others: the removal of a round waits for all that have not given up.
func TestAWaiterThatGivesUpCountsForItselfAlone(t *testing.T) {
	turns := newTurns(3)
	ready := func(round int64) bool { return beyond(turns.begun, round) }
	turns.begin(0, 0)
	turns.giveUp(1) // with a thousand rounds left
	if ready(0) {
		t.Error("the removal does not wait for the third waiter")
	}
	turns.begin(2, 0)
	if !ready(0) || ready(1) {
		t.Error("two have begun round 0 and nobody round 1")
	}
	turns.pass(0, 0, 1)
	if _, _, last := turns.pass(2, 0, 2); !last || !beyond(turns.passed, 0) {
		t.Error("the third waiter is the last of round 0")
	}
	turns.giveUp(-1) // the session that sets the barrier
	if turns.set <= 1000 {
		t.Error("the others still wait for it to set")
	}
}
