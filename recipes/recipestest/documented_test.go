package recipestest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the code and promises shown in docs/your-own-recipe.md")

// The document shows the lock that is tested here, and every promise of the suite.
func TestTheDocumentShowsWhatIsTested(t *testing.T) {
	const file = "../../docs/your-own-recipe.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var promises strings.Builder
	for _, p := range lockBasics {
		fmt.Fprintf(&promises, "- %s\n", p.name)
	}
	for _, p := range lockPromises {
		fmt.Fprintf(&promises, "- %s%s\n", p.name, map[bool]string{true: " (`FIFO`)"}[p.fifo])
	}
	for _, sc := range lockScenes(lockVariant{}) {
		fmt.Fprintf(&promises, "- %s\n", sc.Name)
	}
	want := string(text)
	parts := map[string]string{"promises": promises.String()}
	for _, name := range []string{"lock.go", "lock_test.go", "main.go"} {
		code, err := os.ReadFile("../../cmd/zkbench/command/testdata/yours/" + name)
		if err != nil {
			t.Fatal(err)
		}
		parts[name] = "```go\n" + string(code) + "```\n"
	}
	for name, part := range parts {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		before, rest, found := strings.Cut(want, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no place for %s", file, name)
		}
		want = before + begin + part + end + after
	}
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s does not show what is tested: go test ./recipes/recipestest -update rewrites it", file)
	}
}
