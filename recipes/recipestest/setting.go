package recipestest

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
)

// SettingOn tests that readers, with watch as their Options.Watch, see the last version of a burst of changes and count the versions that they missed.
func SettingOn(t *testing.T, v recipes.Variant[recipes.Setting], watch string, dial Dial, path string) {
	const readers, burst = 3, 1000
	ctx := t.Context()
	o := recipes.Options{Watch: watch}
	w := v.New(dial(t), path, o)
	type end struct {
		last              recipes.SettingValue
		versions, changes int64
		err               error
	}
	ends := make(chan end, readers)
	for range readers {
		c := v.New(dial(t), path, o)
		go func() {
			var e end
			for e.err == nil && string(e.last.Data) != strconv.Itoa(burst) {
				var next recipes.SettingValue
				if next, e.err = c.Watch(ctx, e.last); e.err != nil {
					continue
				}
				if next.Token <= e.last.Token || !next.Exists {
					e.err = fmt.Errorf("setting %+v after %+v", next, e.last)
				}
				if e.versions++; e.last.Exists {
					e.changes += 1 + next.Missed
				} else {
					e.changes = 1 + int64(next.Version)
				}
				e.last = next
			}
			ends <- e
		}()
	}
	last := int64(0)
	for i := range burst + 1 {
		token, err := w.Set(ctx, []byte(strconv.Itoa(i)))
		bubble.OK(t, "Set()", err)
		if token <= last && i > 0 { // not every engine's create reports it
			t.Fatalf("token %d after %d", token, last)
		}
		last = token
	}
	for range readers {
		e := <-ends
		if e.err != nil || e.changes != burst+1 || e.versions > e.changes || e.last.Token != last {
			t.Errorf("a reader saw %d settings of %d versions to the end %+v, %v; want %d with token %d", e.versions, e.changes, e.last, e.err,
				burst+1, last)
		}
	}
}
