package tier

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	function = regexp.MustCompile(`(?m)^func (\w+)\(`)
	long     = regexp.MustCompile(`tier\.Long\(\w+, "([^"]*)"\)`)
	named    = regexp.MustCompile(`Test\w+`)
)

// Each long test says after a semicolon what the short tier has instead; a test that it names exists and is not long itself.
func TestLongTestsNameTheirRelatives(t *testing.T) {
	why, tests := map[string]string{}, map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "tier_test.go" {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text, name := string(source), ""
		for line := range strings.Lines(text) {
			if f := function.FindStringSubmatch(line); f != nil {
				name = f[1]
				tests[name] = true
			}
			if l := long.FindStringSubmatch(line); l != nil {
				why[name] = l[1]
			} else if strings.Contains(line, "tier.Long(") {
				t.Errorf("%s: tier.Long without a literal reason", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(why) == 0 {
		t.Fatal("no long test was found")
	}
	for test, reason := range why {
		long, short, ok := strings.Cut(reason, "; ")
		if !ok || long == "" || short == "" {
			t.Errorf("%s: %q does not say what the short tier has instead", test, reason)
		}
		for _, relative := range named.FindAllString(short, -1) {
			if _, isLong := why[relative]; isLong || !tests[relative] {
				t.Errorf("%s: its relative %s does not exist or is long too", test, relative)
			}
		}
	}
}
