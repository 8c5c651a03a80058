package tier

import "testing"

// Long skips a test in the short tier, which is 'go test -short'. why says in one sentence what makes the test long, and which test of the
// short tier is its relative, or why none can exist.
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("long, for 'make test-all': %s", why)
	}
}
