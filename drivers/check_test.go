package drivers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/drivers"
)

// findings runs the kit up to the step last ("" means all), or only the given steps.
func findings(t *testing.T, defect, last string, waiting time.Duration, steps ...string) map[string]drivers.Finding {
	t.Helper()
	all := map[string]drivers.Finding{}
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	drivers.Check(ctx, drivers.Conformance{Command: driver(t, defect), Dir: "/d", Timeout: time.Second, AnswerTimeout: waiting, Steps: steps}, func(f drivers.Finding) {
		if all[f.Step] = f; f.Step == last {
			enough()
		}
	})
	return all
}

func TestNullDriverConforms(t *testing.T) {
	t.Parallel()
	all := findings(t, "none", "", time.Minute)
	for step, f := range all {
		if f.Err != nil || f.Skipped != "" && step != "death" && step != "q-death" && step != "q-claims" {
			t.Error(f)
		}
	}
	if len(all) != 18 {
		t.Errorf("%d findings, want 18", len(all))
	}
}

// A driver with queues only has no steps for locks, and one whose takes claim passes those for claims.
func TestQueuesConform(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		defect  string
		skipped []string
		of      int
		steps   []string
	}{
		{"queues alone", []string{"q-claims", "q-death"}, 7, nil},
		{"claims", []string{"q-death"}, 5, []string{"queue", "q-turmoil", "q-claims", "q-death"}},
	} {
		all := findings(t, c.defect, "", time.Minute, c.steps...)
		for step, f := range all {
			if f.Err != nil || (f.Skipped != "") != slices.Contains(c.skipped, step) {
				t.Errorf("%s: %v", c.defect, f)
			}
		}
		if len(all) != c.of {
			t.Errorf("%s: %d findings, want %d", c.defect, len(all), c.of)
		}
	}
}

// What a step works with is named as in a load, so that what libraries create below it can be removed.
func TestWhatStepsWorkWithIsNamedByItsKind(t *testing.T) {
	t.Parallel()
	for defect, want := range map[string][]string{
		"none":             {"lock-0", "lock-1", "lock-2", "semaphore-11", "queue-13", "lock-17"},
		"semaphores alone": {"lock-0", "semaphore-1", "semaphore-2", "semaphore-11", "semaphore-17"},
	} {
		var made []string
		drivers.Check(t.Context(), drivers.Conformance{Command: driver(t, defect), Dir: "/d", Timeout: time.Second, AnswerTimeout: time.Minute,
			Steps: []string{"requests", "exclusion", "semaphore", "queue", "end"},
			Child: func(_ context.Context, path string) error {
				made = append(made, strings.TrimPrefix(path, "/d/"))
				return nil
			}}, func(f drivers.Finding) {
			if f.Err != nil {
				t.Error(f)
			}
		})
		if !slices.Equal(made, want) {
			t.Errorf("%s: made %q, want %q", defect, made, want)
		}
	}
}

// A driver with read/write locks only passes the steps for locks with its writers.
func TestAPartConforms(t *testing.T) {
	t.Parallel()
	all := findings(t, "read write alone", "", time.Minute)
	for step, f := range all {
		if f.Err != nil || (f.Skipped != "") != (step == "death" || step == "try") {
			t.Error(f)
		}
	}
	if len(all) != 12 {
		t.Errorf("%d findings, want 12", len(all))
	}
}

func TestBrokenDriversAreCaught(t *testing.T) {
	const short = 2 * time.Second
	for _, c := range []struct {
		defect, step string
		kind         error // nil: any
		says         string
	}{
		{"grants twice", "exclusion", drivers.ErrTwoHolders, "granted"},
		{"never answers", "exclusion", nil, "not answered"},
		{"answers another request", "exclusion", drivers.ErrProtocol, "answers request"},
		{"answers twice", "exclusion", drivers.ErrProtocol, "has already been answered"},
		{"clock ahead", "exclusion", drivers.ErrProtocol, "after it was received"},
		{"clock behind", "exclusion", drivers.ErrProtocol, "before the request was sent"},
		{"clock backwards", "exclusion", drivers.ErrProtocol, "before it started"},
		{"no clock", "exclusion", drivers.ErrProtocol, "no start"},
		{"ignores deadlines", "deadline", nil, "not answered"},
		{"keeps what was given up", "cancellation", nil, "not answered"},
		{"releases anything", "requests", nil, "without an error"},
		{"keeps locks of the closed", "close", nil, "nobody else gets the lock"},
		{"dies", "exclusion", nil, "ended"},
		{"goes on after its input", "end", nil, "has not ended"},
		{"another protocol", "hello", drivers.ErrProtocol, "version 2"},
		{"not JSON", "hello", drivers.ErrProtocol, "not a reply"},
		{"no locks", "hello", nil, "supports nothing"},
		{"lets writers in beside readers", "read-write", drivers.ErrTwoHolders, "a writer was let in"},
		{"gives one permit too many", "semaphore", drivers.ErrTooMany, "was granted"},
		{"gives one permit too few", "semaphore", nil, "permit 2 of 2"},
		{"loses permits", "semaphore", nil, "given back"},
		{"lets readers wait for readers", "read-write", nil, "beside readers: acquire was not answered"},
		{"loses an item", "queue", drivers.ErrLostItem, "take 6 of 6"},
		{"puts an item twice", "queue", drivers.ErrTakenTwice, "item 3"},
		{"puts text", "queue", drivers.ErrStranger, "item 1"},
		{"answers a take at once", "queue", drivers.ErrStranger, `""`},
		{"ignores deadlines", "queue", nil, "not answered"},
		{"swaps items", "queue", drivers.ErrOutOfOrder, "item 3 is taken before item 2"},
		{"tells another node", "queue", nil, "item 1 was put as"},
		{"claims for good", "queue", nil, "finish of an item that was taken is refused"},
		{"claims for nobody", "queue", drivers.ErrTakenTwice, "item 1"},
		{"claims and finishes anything", "q-claims", nil, "a finish of nothing"},
		{"claims, keeps locks of the closed", "q-claims", drivers.ErrLostItem, "the item of a session that was closed"},
		{"dies at once", "hello", drivers.ErrEnded, "no license"},
	} {
		t.Run(c.defect, func(t *testing.T) {
			t.Parallel()
			f := findings(t, c.defect, c.step, short)[c.step]
			if f.Err == nil || c.kind != nil && !errors.Is(f.Err, c.kind) || !strings.Contains(f.Err.Error(), c.says) {
				t.Errorf("%s: %v, want an error that says %q", c.step, f.Err, c.says)
			}
		})
	}
}

// Defects that only the turmoil steps may reveal.
func TestTurmoil(t *testing.T) {
	for _, c := range []struct {
		defect, step string
		kind         error
		says         string
	}{
		{"lets writers in beside readers", "rw-turmoil", drivers.ErrTwoHolders, "wrote and"},
		{"gives one permit too many", "sem-turmoil", drivers.ErrTooMany, "3 of 2"},
		{"suspends each grant", "turmoil", nil, "80 of 80 grants were suspended"},
		{"hands an item out twice under load", "q-turmoil", drivers.ErrTakenTwice, "item"},
	} {
		t.Run(c.defect, func(t *testing.T) {
			t.Parallel()
			if f := findings(t, c.defect, "", time.Minute, c.step)[c.step]; f.Err == nil || c.kind != nil && !errors.Is(f.Err, c.kind) || !strings.Contains(f.Err.Error(), c.says) {
				t.Errorf("%v, want an error that says %q", f, c.says)
			}
		})
	}
}
