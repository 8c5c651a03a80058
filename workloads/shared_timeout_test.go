package workloads

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A context is lent as long as it lasts for the time asked for, and ends in its own time. It does not end with the run.
func TestSharedTimeout(t *testing.T) {
	type key struct{}
	const d = 8 * time.Second
	for _, c := range []struct {
		sentence string
		after    time.Duration
		again    bool
	}{
		{"at once", 0, true}, {"while the time is left", d / 4, true}, {"when less is left", d/4 + 1, false}, {"when it has ended", 2 * d, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			run, cut := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
			var s sharedTimeout
			first := s.atLeast(run, time.Now(), d)
			cut()
			if end, _ := first.Deadline(); first.Err() != nil || time.Until(end) != d+d/4 || first.Value(key{}) != "value" {
				t.Errorf("%s: the first ends in %v with %v, want %v and nil, after the end of the run", c.sentence, time.Until(end), first.Err(), d+d/4)
			}
			time.Sleep(c.after)
			second := s.atLeast(run, time.Now(), d)
			if end, _ := second.Deadline(); second.Err() != nil || time.Until(end) < d || (second == first) != c.again {
				t.Errorf("%s: the second ends in %v with %v, and is the first: %v", c.sentence, time.Until(end), second.Err(), second == first)
			}
			if over := c.after >= d+d/4; over != (first.Err() != nil) {
				t.Errorf("%s: the first has ended with %v, although others may use it", c.sentence, first.Err())
			}
			time.Sleep(2 * d)
			for _, lent := range []context.Context{first, second} {
				if !errors.Is(lent.Err(), context.DeadlineExceeded) {
					t.Errorf("%s: one never ends: %v", c.sentence, lent.Err())
				}
			}
		})
	}
}
