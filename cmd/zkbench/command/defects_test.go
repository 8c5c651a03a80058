package command

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/broken"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// brokenSetup returns the command's setup with the deliberately broken recipes in addition to the correct ones.
func brokenSetup() bench.Setup {
	s := setup()
	for i, with := range kinds(recipes.Variants{
		Locks:          broken.Variants(broken.Locks),
		RWLocks:        broken.Variants(broken.RWLocks),
		MultiLocks:     broken.Variants(broken.MultiLocks),
		Semaphores:     broken.Variants(broken.Semaphores),
		Queues:         slices.Concat(broken.Variants(broken.Queues), broken.Variants(broken.ClaimQueues)),
		PriorityQueues: broken.Variants(broken.PriorityQueues),
		DelayQueues:    broken.Variants(broken.DelayQueues),
		Elections:      broken.Variants(broken.Elections),
		Barriers:       broken.Variants(broken.Barriers),
		DoubleBarriers: broken.Variants(broken.DoubleBarriers),
		Rendezvouses:   broken.Variants(broken.Rendezvouses),
		Counters:       broken.Variants(broken.Counters),
		IDs:            broken.Variants(broken.Generators),
		Groups:         broken.Variants(broken.Groups),
		Commits:        broken.Variants(broken.Commits),
		Settings:       broken.Variants(broken.Configs),
	}) {
		s.Workloads[i].Variants = append(s.Workloads[i].Variants, with.Variants...)
	}
	return s
}

// brokenDefect is an entry of a catalogue of package broken.
type brokenDefect struct{ catalogue, name, caught string }

// brokenDefects returns all defects, in their order.
func brokenDefects() []brokenDefect {
	return slices.Concat(entries("Locks", broken.Locks), entries("MultiLocks", broken.MultiLocks), entries("RWLocks", broken.RWLocks),
		entries("Semaphores", broken.Semaphores), entries("Queues", broken.Queues), entries("ClaimQueues", broken.ClaimQueues),
		entries("PriorityQueues", broken.PriorityQueues), entries("DelayQueues", broken.DelayQueues), entries("Elections", broken.Elections),
		entries("Barriers", broken.Barriers), entries("DoubleBarriers", broken.DoubleBarriers), entries("Rendezvouses", broken.Rendezvouses),
		entries("Counters", broken.Counters), entries("Generators", broken.Generators), entries("Groups", broken.Groups),
		entries("Configs", broken.Configs), entries("Commits", broken.Commits))
}

func entries[T any](catalogue string, all []broken.Defect[T]) (out []brokenDefect) {
	for _, d := range all {
		out = append(out, brokenDefect{catalogue, strings.TrimPrefix(d.Name, "broken-"), d.Caught})
	}
	return out
}

// The list of runs is complete: a defect, or a catalogue, of package broken that is in no run fails this test.
func TestEveryDefectGoesThroughTheFrontDoor(t *testing.T) {
	var there, run []string
	for _, d := range brokenDefects() {
		there = append(there, d.catalogue)
		i := slices.IndexFunc(frontDoors, func(f frontDoor) bool { return slices.Contains(f.catalogues, d.catalogue) })
		if i < 0 || !slices.ContainsFunc(frontDoors[i].defects, func(r defective) bool { return r.name == d.name }) {
			t.Errorf("defect %s of %s is in no run", d.name, d.catalogue)
		}
	}
	for _, f := range frontDoors {
		for _, r := range f.defects {
			if !slices.ContainsFunc(brokenDefects(), func(d brokenDefect) bool { return d.name == r.name && slices.Contains(f.catalogues, d.catalogue) }) {
				t.Errorf("there is no defect %s in %v", r.name, f.catalogues)
			}
		}
		run = append(run, f.catalogues...)
	}
	slices.Sort(run)
	slices.Sort(there)
	if all := brokenCatalogues(t); !slices.Equal(run, all) || !slices.Equal(slices.Compact(there), all) {
		t.Errorf("catalogues of defects: run %v, known here %v, there are %v", run, slices.Compact(there), all)
	}
}

// brokenCatalogues returns the variables of package broken that list defects, from its source.
func brokenCatalogues(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../../../recipes/broken/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range catalogueOf.FindAllSubmatch(source, -1) {
			names = append(names, string(found[1]))
		}
	}
	slices.Sort(names)
	return names
}

var catalogueOf = regexp.MustCompile(`(?m)^var ([A-Z]\w*) = \[\]Defect\[`)

var allDefects = flag.Bool("defects", false, "run every deliberately broken recipe, and not one for each check of each workload")

var atOnce = flag.Int("at-once", 8, "how many runs of broken recipes share the machine")

// A defect ends a run of the built-in profile of its workload, started as a user starts it, with exit code 4; or with 5, and then the result says what
// would be long enough. Without the flag -defects, the first defect that a check of a workload has to catch stands for the others; in the short tier,
// the first defect that a check has to catch.
func TestDefectsThroughTheFrontDoor(t *testing.T) {
	t.Parallel()
	servers := ensembletest.Start(t, 3, func(c *local.Config) { c.NoFsync = true }).Addresses()
	places := make(chan struct{}, *atOnce)
	var all sync.WaitGroup
	shown := map[string]bool{} // by check
	for _, door := range frontDoors {
		if !testing.Short() {
			clear(shown)
		}
		for i, r := range door.defects {
			d := brokenDefects()[slices.IndexFunc(brokenDefects(), func(d brokenDefect) bool {
				return d.name == r.name && slices.Contains(door.catalogues, d.catalogue)
			})]
			if !*allDefects && shown[d.caught] {
				continue
			}
			shown[d.caught] = true
			places <- struct{}{}
			all.Go(func() {
				defer func() { <-places }()
				t.Run(door.workload+"/"+r.name, func(t *testing.T) { door.run(t, servers, fmt.Sprintf("%s-%d", door.workload, i), r) })
			})
		}
	}
	all.Wait()
}

// plenty is the number of operations in which any of the defects shows itself. A machine that is busy with other things does fewer in the time of a
// profile, and gets the time that it needs.
const plenty = 2000

func (f frontDoor) run(t *testing.T, servers []string, name string, r defective) {
	if testing.Short() && f.timed() { // most defects show themselves in a part of the profile's time
		lengths := []string{"1s", "4s"}
		if slices.ContainsFunc(r.sets, func(set string) bool { return strings.HasPrefix(set, "faults=") }) { // which are later than that
			lengths = lengths[1:]
		}
		for _, length := range lengths {
			if o, doc := f.once(t, servers, "/defects/"+name, r, "warmup=500ms", "duration="+length); o.code == exitViolated {
				logChecks(t, doc)
				return
			}
		}
	}
	o, doc := f.once(t, servers, "/defects/"+name, r)
	for _, length := range []string{"60s", "300s"} {
		cell := doc.Cells[len(doc.Cells)-1]
		if o.code != exitOK || cell.Operations >= plenty {
			break
		}
		t.Logf("%d operations are too few for a defect to show itself", cell.Operations)
		var more []string
		if cell.Parameters["duration"] != nil { // otherwise the rounds are carried out again
			more = append(more, "duration="+length)
		}
		o, doc = f.once(t, servers, "/defects/"+name, r, more...)
	}
	if o.code == exitViolated || o.code == exitUnknown {
		t.Logf("exit %d: %s", o.code, o.stderr)
	} else {
		t.Errorf("exit %d, want %d: %s", o.code, exitViolated, o.stderr)
	}
	logChecks(t, doc)
}

// timed reports whether the runs have a duration.
func (f frontDoor) timed() bool {
	return slices.ContainsFunc(brokenSetup().Workloads, func(k workloads.Kind) bool { return k.Name == f.workload && k.Shape == profiles.Timed })
}

// once runs a defect once.
func (f frontDoor) once(t *testing.T, servers []string, root string, r defective, more ...string) (ending, *results.Run) {
	t.Helper()
	dir := out(t)
	args := []string{"run", f.profile, "--servers", strings.Join(servers, ","), "--root", root, "--quiet", "--out", dir}
	for _, set := range slices.Concat([]string{"variants=[broken-" + r.name + "]"}, f.cell, r.sets, more) {
		args = append(args, "--set", set)
	}
	user := newTerminal(t)
	user.setup = r.setup(brokenSetup())
	stop := r.beside(t, servers, root)
	o := user.run(args...)
	stop()
	doc, err := results.Read(dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, o.stderr)
	}
	return o, doc
}

func logChecks(t *testing.T, doc *results.Run) {
	t.Helper()
	for _, c := range doc.Cells {
		t.Logf("%d operations, errors %v", c.Operations, c.Errors)
		for _, k := range c.Checks {
			t.Logf("%s: %s, evidence %d, %d against it %s", k.Name, k.Verdict, k.Evidence, k.Count, k.Detail)
		}
	}
}

// What a user sees of a lock that is dead, one that starves some sessions, one that two sessions hold for an instant, and a semaphore that
// loses its permits: the process ends with an exit code that is not 0, and says why.
func TestTheProcessOfADefectDoesNotEndInZero(t *testing.T) {
	tier.Long(t, "four runs with the times of built-in profiles; TestDefectsThroughTheFrontDoor runs a defect of each check")
	t.Parallel()
	servers := strings.Join(servers.Get(t, 3).Addresses(), ",")
	var all sync.WaitGroup
	for _, c := range []struct{ profile, variant, set string }{
		{"quickstart", "broken-dead", "hold=5ms"},
		{"quickstart", "broken-starves", "hold=5ms"},
		{"quickstart", "broken-two-permits", "hold=0s"},
		{"semaphores", "broken-loses-permits", "permits=3"},
	} {
		all.Go(func() {
			t.Run(c.variant, func(t *testing.T) {
				o := inChild(t, withDefects, "", "run", c.profile, "--servers", servers, "--root", "/"+c.variant, "--quiet", "--out", out(t),
					"--set", "variants=["+c.variant+"]", "--set", "sessions=10", "--set", c.set)
				if o.code != exitViolated && o.code != exitUnknown || !strings.Contains(o.stderr, " of "+c.variant) {
					t.Errorf("exit code %d, want %d:\n%s%s", o.code, exitViolated, o.stdout, o.stderr)
				}
			})
		})
	}
	all.Wait()
}
