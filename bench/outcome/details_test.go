package outcome

import (
	"testing"
)

// Sessions are reported in at most a hundred steps, the last of which covers all of them.
func TestPortions(t *testing.T) {
	for _, n := range []int{1, 99, 100, 101, 150, 5000} {
		grants := make([]int, n)
		for i := range grants {
			grants[i] = i
		}
		got := portionsOf(grants)
		if last := got[len(got)-1]; len(got) != min(n, MostShares) || last.Sessions != n || last.Grants != n*(n-1)/2 {
			t.Errorf("%d sessions: %d lines, the last %+v", n, len(got), last)
		}
	}
	if portionsOf(nil) != nil {
		t.Error("nobody has a share")
	}
}
