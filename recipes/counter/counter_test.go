package counter

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// An addition whose tag is missing was not applied, as long as no more writes have followed than the counter keeps tags. After one more, the tag
// may have been dropped.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		sentence string
		before   int // additions before the one in doubt; 0: it creates the counter
		after    int // additions since
		doubt    bool
	}{
		{"nothing has followed", 1, 0, false},
		{"as many have followed as tags are kept", 3, tagsKept, false},
		{"one more has followed", 3, tagsKept + 1, true},
		{"it creates the counter, and as many have followed as tags are kept", 0, tagsKept, false},
		{"it creates the counter, and one more has followed", 0, tagsKept + 1, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := zktest.New(zktest.Config{}).Dial()
			defer s.Close()
			other, own := newCounter(s, "/counter", recipes.Options{}), newCounter(s, "/counter", recipes.Options{})
			add := func(n int) {
				for range n {
					if _, err := other.Add(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
				}
			}
			add(c.before)
			var before zk.Stat
			if c.before > 0 {
				var err error
				if _, before, err = own.read(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			add(c.after)
			made, err := own.find(t.Context(), "own:1", before)
			if made || errors.Is(err, recipes.ErrInDoubt) != c.doubt || err != nil && !c.doubt {
				t.Errorf("%s: made %v, %v; want in doubt: %v", c.sentence, made, err, c.doubt)
			}
			if made, err := own.find(t.Context(), lastTag(t, own), before); c.before+c.after > 0 && (!made || err != nil) {
				t.Errorf("%s: the last addition was made: %v, %v", c.sentence, made, err)
			}
		})
	}
}

func lastTag(t *testing.T, c *casCounter) string {
	tally, _, err := c.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tally.tags[len(tally.tags)-1]
}
