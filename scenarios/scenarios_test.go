package scenarios

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
)

// A trial is repeated until it completes, up to the given number of tries; each is reported once, and its finding is in its place.
func TestRun(t *testing.T) {
	trials := []Trial{{"a", "one", None}, {"b", "one", Liveness}, {"a", "two", Exclusion}}
	failing := errors.New("not staged")
	plays := make([]atomic.Int32, len(trials))
	var reported []string
	c := Config{Parallel: 2, Played: func(n, of int, f Finding) {
		if n != len(reported)+1 || of != len(trials) {
			t.Errorf("the trial after %d is told as %d of %d", len(reported), n, of)
		}
		reported = append(reported, f.Variant+f.Scenario)
	}}
	found, err := Run(t.Context(), c, trials, 3, func(_ context.Context, i, try int) (Violation, string, error) {
		plays[i].Add(1)
		if try < i+1 {
			return None, "", failing
		}
		return Liveness, trials[i].Variant, nil
	})
	want := []Finding{{trials[0], Liveness, "a", nil}, {trials[1], Liveness, "b", nil}, {trials[2], None, "", failing}}
	if slices.Sort(reported); err != nil || !slices.Equal(found, want) || !slices.Equal(reported, []string{"aone", "atwo", "bone"}) {
		t.Errorf("Run() = %+v, %v, told %v; want %+v", found, err, reported, want)
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

// When the run ends, trials that have started are not repeated, and no others are started.
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
