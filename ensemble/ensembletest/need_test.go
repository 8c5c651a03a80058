package ensembletest

import (
	"fmt"
	"strings"
	"testing"
)

// outcome records how a test ended.
type outcome struct {
	testing.TB
	skipped, failed string
}

func (*outcome) Helper()                        {}
func (s *outcome) Skip(args ...any)             { s.skipped = fmt.Sprint(args...) }
func (s *outcome) Fatalf(f string, args ...any) { s.failed = fmt.Sprintf(f, args...) }

func TestWhatIsMissingIsToldAndForbiddenWhereItIsRequired(t *testing.T) {
	t.Setenv("JAVA_HOME", t.TempDir())
	for _, c := range []struct {
		name, says string
		need       func(testing.TB)
		required   []bool // by "", "servers", "1"
	}{
		{"a file", "apt-get install some-package", func(t testing.TB) { Need(t, "go:/", "some-package:/no/such/file") }, []bool{false, false, true}},
		{"a program", "apt-get install other-package", func(t testing.TB) { Need(t, "other-package:no-such-program") }, []bool{false, false, true}},
		{"Java", "JAVA_HOME", NeedServers, []bool{false, true, true}},
	} {
		for i, value := range []string{"", "servers", "1"} {
			t.Setenv("ZKBENCH_REQUIRE_PACKAGES", value)
			var seen outcome
			c.need(&seen)
			says, other := seen.skipped, seen.failed
			if c.required[i] {
				says, other = other, says
			}
			if !strings.Contains(says, c.says) || other != "" {
				t.Errorf("%s, %q: skipped with %q, failed with %q; want required %v, and %q", c.name, value, seen.skipped, seen.failed, c.required[i], c.says)
			}
		}
	}
	var fine outcome
	if Need(&fine, "coreutils:/", "golang-go:go"); fine.skipped+fine.failed != "" {
		t.Errorf("nothing is missing: skipped with %q, failed with %q", fine.skipped, fine.failed)
	}
}
