package counter

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// An addition whose tag is not there was not made, as long as the counter remembers as many tags as writes have followed; after one more its
// tag may have gone again.
func TestWhatIsFoundOfAnAddition(t *testing.T) {
	for _, c := range []struct {
		sentence string
		before   int // additions before the one in doubt; 0: it was to make the counter
		after    int // additions since
		doubt    bool
	}{
		{"nothing has followed", 1, 0, false},
		{"as many as are remembered have followed", 3, tagsKept, false},
		{"one more", 3, tagsKept + 1, true},
		{"it was to make the counter, and as many as are remembered have been made", 0, tagsKept, false},
		{"it was to make the counter, and one more", 0, tagsKept + 1, true},
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
