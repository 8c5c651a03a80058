package scenarios

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

// A trial is tried again until it comes to its end, so often and no more; each is told of once, and its finding is in its place.
func TestRun(t *testing.T) {
	trials := []Trial{{"a", "one", None}, {"b", "one", Liveness}, {"a", "two", Exclusion}}
	failing := errors.New("not staged")
	plays := make([]atomic.Int32, len(trials))
	var told []string
	c := Config{Parallel: 2, Played: func(n, of int, f Finding) {
		if n != len(told)+1 || of != len(trials) {
			t.Errorf("the trial after %d is told as %d of %d", len(told), n, of)
		}
		told = append(told, f.Variant+f.Scenario)
	}}
	found, err := Run(t.Context(), c, trials, 3, func(_ context.Context, i, try int) (Violation, string, error) {
		plays[i].Add(1)
		if try < i+1 {
			return None, "", failing
		}
		return Liveness, trials[i].Variant, nil
	})
	want := []Finding{{trials[0], Liveness, "a", nil}, {trials[1], Liveness, "b", nil}, {trials[2], None, "", failing}}
	if slices.Sort(told); err != nil || !slices.Equal(found, want) || !slices.Equal(told, []string{"aone", "atwo", "bone"}) {
		t.Errorf("Run() = %+v, %v, told %v; want %+v", found, err, told, want)
	}
	for i, n := range []int32{2, 3, 3} {
		if got := plays[i].Load(); got != n {
			t.Errorf("trial %d was played %d times, want %d", i, got, n)
		}
	}
	if names := Variants(trials); !slices.Equal(names, []string{"a", "b"}) || !slices.Equal(Of(trials, names[1:]), trials[1:2]) {
		t.Errorf("Variants() = %v, Of the last %v", names, Of(trials, names[1:]))
	}
}

// When the run ends, what has begun is not tried again, and what has not is not begun.
func TestTheEndOfARun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	trials := make([]Trial, 5)
	n := 0
	found, err := Run(ctx, Config{}, trials, 3, func(ctx context.Context, _, _ int) (Violation, string, error) {
		n++
		cancel()
		return None, "", ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || n > 2 { // one may have been handed over at the same time
		t.Errorf("Run() = %v after %d plays", err, n)
	}
	for i, f := range found {
		if !errors.Is(f.Err, context.Canceled) {
			t.Errorf("trial %d: %v", i, f.Err)
		}
	}
}
