package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zkbench/zkbench/results"
)

// Every table fits, in the narrow form too; none has two rows with the same name or a column without information, and dividing a table loses no cell.
func TestTablesFit(t *testing.T) {
	wide := quickstart()
	for i := range wide.Cells {
		wide.Cells[i].Variant = "exists-on-parent"
	}
	wide.Cells = wide.Cells[:1]
	for name, run := range map[string]results.Run{"quickstart": quickstart(), "queues": queues(), "elections": elections(), "troubled": troubled(),
		"overloaded": overloaded(), "a long name": wide} {
		for _, group := range workloads(rowsOf(run)) {
			whole := tableOf(group).compact()
			for _, width := range []int{80, 90, 100} {
				cells := map[string]bool{}
				for _, one := range whole.only(columnsOf(whole)).divided(width) {
					if one.width() > width {
						t.Errorf("%s: a table of %d columns, want %d at most: %q", name, one.width(), width, one.below)
					}
					var text strings.Builder
					if err := one.drawOne(&text, "  ", true); err != nil {
						t.Fatal(err)
					}
					for line := range strings.Lines(text.String()) {
						if utf8.RuneCountInString(line) > one.width()+1 { // plus the end of the line
							t.Errorf("%s: width() is %d of\n%s", name, one.width(), line)
						}
					}
					named := map[string]bool{}
					for _, r := range one.rows {
						key := ""
						for i := range r {
							if one.part[i] == partKeys {
								key += r[i] + "|"
							}
							cells[one.above[i]+one.below[i]+r[i]] = true
						}
						if named[key] {
							t.Errorf("%s: two rows are named %s", name, key)
						}
						named[key] = true
					}
				}
				for i := range whole.below {
					if !slices.ContainsFunc(whole.rows, func(r []string) bool { return r[i] != "-" }) {
						t.Errorf("%s: nothing is said of %s", name, whole.below[i])
					}
					for _, r := range whole.rows {
						first, _, _ := strings.Cut(r[i], " ")
						if key := whole.above[i] + whole.below[i]; !cells[key+r[i]] && !cells[key+first] {
							t.Errorf("%s at %d: %s of %s is lost", name, width, key, r[0])
						}
					}
				}
			}
		}
	}
}

func columnsOf(t table) (all []int) {
	for i := range t.below {
		all = append(all, i)
	}
	return all
}

// An upper head is centred over its columns, which make room for it, and no head runs into the next one.
func TestUpperHeads(t *testing.T) {
	var some table
	some.head("", "variant", "", true, partKeys)
	some.head("response, ms", "p50", "", false, partOfOp)
	some.head("response, ms", "max", "", false, partOfOp)
	some.head("events per release", "all", "", false, partWaiting)
	some.rows = [][]string{{"naive", "1234567", "1234567", "9"}}
	want := "         - response, ms -  events per release\nvariant      p50      max                 all\n"
	var got strings.Builder
	if err := some.drawOne(&got, "  ", false); err != nil || !strings.HasPrefix(got.String(), want) {
		t.Errorf("heads are\n%s\nwant\n%s(%v)", got.String(), want, err)
	}
	if got := fmt.Sprint(some.width()); got != "45" {
		t.Errorf("width %s, want 45", got)
	}
}

// A table with a single part omits columns that hold only dashes, even if it does not say which columns are text.
func TestColumnsOfDashesAreLeftOut(t *testing.T) {
	one := table{below: []string{"limit", "p99", "max"}, text: []bool{true}, rows: [][]string{{"a", "-", "3"}, {"b", "-", "-"}}}
	if got := one.compact(); !slices.Equal(got.below, []string{"limit", "max"}) || !slices.Equal(got.rows[1], []string{"b", "-"}) || !slices.Equal(got.text, []bool{true, false}) {
		t.Errorf("compact() = %+v", got)
	}
}
