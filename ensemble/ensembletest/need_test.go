package ensembletest

import (
	"fmt"
	"strings"
	"testing"
)

// told notes how a test ended.
type told struct {
	testing.TB
	skipped, failed string
}

func (*told) Helper()                        {}
func (s *told) Skip(args ...any)             { s.skipped = fmt.Sprint(args...) }
func (s *told) Fatalf(f string, args ...any) { s.failed = fmt.Sprintf(f, args...) }

func TestWhatIsMissingIsToldAndForbiddenWhereItIsRequired(t *testing.T) {
	t.Setenv("JAVA_HOME", t.TempDir())
	for _, c := range []struct {
		name, says string
		need       func(testing.TB)
	}{
		{"a file", "apt-get install some-package", func(t testing.TB) { Need(t, "go:/", "some-package:/no/such/file") }},
		{"a program", "apt-get install other-package", func(t testing.TB) { Need(t, "other-package:no-such-program") }},
		{"Java", "JAVA_HOME", NeedServers},
	} {
		t.Setenv("ZKBENCH_REQUIRE_PACKAGES", "")
		var lenient, strict told
		c.need(&lenient)
		t.Setenv("ZKBENCH_REQUIRE_PACKAGES", "1")
		c.need(&strict)
		if !strings.Contains(lenient.skipped, c.says) || lenient.failed != "" {
			t.Errorf("%s: skipped with %q, failed with %q; want it skipped for %q", c.name, lenient.skipped, lenient.failed, c.says)
		}
		if !strings.Contains(strict.failed, c.says) || strict.skipped != "" {
			t.Errorf("%s, required: skipped with %q, failed with %q; want it failed for %q", c.name, strict.skipped, strict.failed, c.says)
		}
	}
	var fine told
	if Need(&fine, "coreutils:/", "golang-go:go"); fine.skipped+fine.failed != "" {
		t.Errorf("nothing is missing: skipped with %q, failed with %q", fine.skipped, fine.failed)
	}
}
