package stores

import (
	"os"
	"strings"
	"testing"
)

// The table of docs/redis.md matches what the program expects.
func TestTheDocumentSaysWhatIsExpected(t *testing.T) {
	text, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "<!-- scenarios -->\n")
	table, _, _ = strings.Cut(table, "<!-- /scenarios -->")
	if want := documented(); table != want {
		t.Errorf("docs/redis.md has\n%s\nwant\n%s", table, want)
	}
}

// documented returns the expectations as a table with one row per scenario.
func documented() string {
	var b strings.Builder
	b.WriteString("| scenario | what happens | `" + strings.Join(Variants(), "` | `") + "` |\n|---|---|" + strings.Repeat("---|", len(Variants())) + "\n")
	for _, s := range Scenarios {
		b.WriteString("| `" + s.Name + "` | " + s.Doc + " |")
		for _, v := range Variants() {
			cell := ""
			for _, e := range Expectations {
				if e.Variant == v && e.Scenario == s.Name {
					if cell = string(e.Expect); cell == "" {
						cell = "-"
					}
				}
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}
