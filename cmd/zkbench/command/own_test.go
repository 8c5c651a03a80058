package command

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/workloads"
	"github.com/zkbench/zkbench/zk"
)

// refused is the mode of a child with added variants that cannot be in a catalogue.
const refused = "refused"

func aLock(zk.Session, string, recipes.Options) recipes.Lock { return nil }

func aQueue(zk.Session, string, recipes.Options) recipes.Queue { return nil }

var refusedOwn = recipes.Variants{
	Locks: []recipes.Variant[recipes.Lock]{
		{Name: "mine", New: aLock},
		{Name: "predecessor", New: aLock}, // zkbench's
		{New: aLock},                      // no name
		{Name: "hollow"},                  // no New
		{Name: "mine", New: aLock},        // twice
		{Name: "driver:mine", New: aLock}, // no name
		{Name: "careless", New: aLock, Znodes: recipes.Znodes{Ephemeral: []string{"OBJECT/[a-z"}}},
		{Name: "wild", New: aLock, Znodes: recipes.Znodes{Persistent: []string{"anything"}}},
		{Name: "kazoo-double-barrier", New: aLock}, // a name in another workload, which would make it ambiguous for 'list NAME' and the profile published
	},
	Queues:         []recipes.Variant[recipes.Queue]{{Name: "mine", New: aQueue}},
	PriorityQueues: []recipes.Variant[recipes.Queue]{{Name: "priority-mine"}},
}

// All problems are reported at once, each with its variant, before anything is done.
func TestOwnVariantsThatCannotBeUsedAreRefused(t *testing.T) {
	t.Parallel()
	o := inChild(t, refused, "", "version")
	o.want(exitUsage)
	want := []string{
		`lock variant "predecessor", number 2 of yours: zkbench's workload lock has a variant of this name (choose another name)`,
		`lock variant "", number 3 of yours: it has no name`,
		`lock variant "hollow", number 4 of yours: it has no New, which makes a handle`,
		`lock variant "mine", number 5 of yours: duplicate name`,
		`lock variant "driver:mine", number 6 of yours: invalid name (at most 64 letters, digits and . _ + -, starting with a letter or a digit)`,
		`lock variant "careless", number 7 of yours: Znodes: "OBJECT/[a-z": error parsing regexp`,
		`lock variant "wild", number 8 of yours: Znodes: "anything" is not PARENT/NAME`,
		`lock variant "kazoo-double-barrier", number 9 of yours: zkbench's workload double-barrier has a variant of this name (choose another name)`,
		`priority-queue variant "priority-mine", number 1 of yours: it has no New, which makes a handle`,
	}
	said := strings.Split(strings.TrimSuffix(o.stderr, "\n"), "\n")
	if !slices.EqualFunc(said, want, strings.HasPrefix) || o.stdout != "" {
		t.Errorf("stdout %q, stderr:\n%s\nwant:\n%s", o.stdout, o.stderr, strings.Join(want, "\n"))
	}
}

// A variant of each workload that has variants of primitives can be added.
func TestOwnVariantsAreOfEveryWorkloadWithVariants(t *testing.T) {
	own := kinds(recipes.Variants{})
	for _, k := range setup().Workloads {
		if !slices.ContainsFunc(own, func(o workloads.Kind) bool { return o.Name == k.Name }) && !slices.Contains([]string{"watch", "operations", "sessions", "replay"}, k.Name) {
			t.Errorf("no variant of one's own can be added to workload %s", k.Name)
		}
	}
}
