package recipestest

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what docs/your-own-recipe.md shows of this package")

// The document shows the lock that is tested here, and every promise.
func TestTheDocumentShowsWhatIsTested(t *testing.T) {
	const file = "../../docs/your-own-recipe.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile("yours_test.go")
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
	for name, part := range map[string]string{"yours": "```go\n" + string(lock) + "```\n", "promises": promises.String()} {
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
