package results

import "testing"

func TestFaultOfAFinding(t *testing.T) {
	for _, c := range []struct {
		name string
		f    Finding
		code int
	}{
		{"the expected violation showed", Finding{Expected: "exclusion", Seen: "exclusion"}, 0},
		{"nothing was expected, nothing showed", Finding{}, 0},
		{"the expected violation did not show", Finding{Expected: "exclusion"}, 3},
		{"another violation showed", Finding{Expected: "exclusion", Seen: "liveness"}, 4},
		{"a violation showed that nobody expected", Finding{Seen: "liveness"}, 4},
		{"it could not be played, though nothing was expected", Finding{Error: "no servers"}, 1},
	} {
		if code, reason := c.f.Fault(); code != c.code || (code == 0) != (reason == "") {
			t.Errorf("%s: Fault() = %d, %q, want %d", c.name, code, reason, c.code)
		}
	}
}
