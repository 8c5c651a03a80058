package command

import (
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/internal/tier"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/traffic"
)

const (
	curatorDriver = "driver:../../../drivers/curator/driver.sh"
	kazooDriver   = "driver:../../../drivers/kazoo/driver.py"
)

// What runs measured of locks and queues, those of Curator and kazoo too, is in the report of the server's files: counts exactly, means and medians within 5 %.
func TestRecipesUnderLoadAreRecognized(t *testing.T) {
	tier.Long(t, "two minutes of load on a server of its own; traffic's TestALock, TestAQueueAndOtherUses, TestAQueueWithClaims")
	ensembletest.NeedServers(t)
	ensembletest.Need(t, "libcurator-recipes-java:/usr/share/java/curator-recipes.jar", "libjackson2-databind-java:/usr/share/java/jackson-databind.jar",
		"python3-kazoo:/usr/lib/python3/dist-packages/kazoo")
	dir := filepath.Join(t.TempDir(), "ensemble")
	e, err := local.Start(t.Context(), local.Config{Servers: 1, Dir: dir, Heap: "192m", NoFsync: true, JavaArgs: []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s := loaded{e.Addresses()[0], filepath.Join(dir, "server-1", "data")}
	for _, variant := range []string{"predecessor", curatorDriver, kazooDriver} {
		s.lock(t, variant)
	}
	for _, variant := range []string{"fifo", "claim", curatorDriver, kazooDriver} {
		s.queue(t, variant)
	}
}

// loaded is a server and its files.
type loaded struct{ address, data string }

// run runs a profile with one variant. Its exit code says more than the test needs: that a rate was too high for the machine.
func (l loaded) run(t *testing.T, profile, variant string, sets ...string) (results.Cell, results.Details) {
	t.Helper()
	dir := out(t)
	args := []string{"run", profile, "-q", "--no-html", "--servers", l.address, "--out", dir, "--set", `variants=["` + variant + `"]`, "--set", "warmup=1s"}
	for _, s := range sets {
		args = append(args, "--set", s)
	}
	o := zkbench(t, args...)
	doc := result(t, dir)
	details, err := results.ReadDetails(dir)
	if err != nil || len(doc.Cells) != 1 {
		t.Fatalf("%s, %s: %d cells, %v, exit code %d\n%s", profile, variant, len(doc.Cells), err, o.code, o.stderr)
	}
	return doc.Cells[0], details[doc.Cells[0].Name]
}

// recipe returns what the server's files have of the recipes in a time, if there is one of this kind and no other.
func (l loaded) recipe(t *testing.T, kind, variant string, from, to time.Time) (r traffic.Recipe) {
	t.Helper()
	doc, err := traffic.Analyze(t.Context(), []string{l.data}, traffic.Options{Names: true, From: from, To: to})
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Recipes) != 1 || doc.Recipes[0].Kind != kind {
		t.Fatalf("%s: recognized %+v, want one %s", variant, doc.Recipes, kind)
	}
	return doc.Recipes[0]
}

func near(t *testing.T, variant, what string, got, want float64) {
	t.Helper()
	t.Logf("%s: %s %.4g, measured %.4g", variant, what, got, want)
	if math.Abs(got-want) > 0.05*want {
		t.Errorf("%s: %s %v, the run measured %v", variant, what, got, want)
	}
}

// lock compares one lock of six contenders. In the server's files a hold ends with the removal of its znode, and the next one begins: so it lasts as the hand-off before it and
// the hold itself, as its session knows them.
func (l loaded) lock(t *testing.T, variant string) {
	const sessions = 6
	cell, details := l.run(t, "locks", variant, "sessions=[6]", "hold=200ms", "duration=8s")
	all := l.recipe(t, traffic.Lock, variant, cell.Started.Truncate(time.Millisecond), time.Time{})
	grants := int64(details.Shares[len(details.Shares)-1].Grants)
	if all.Grants != grants || all.HandOver != grants-1 || all.Most != sessions || all.Sessions != sessions || all.Objects != 1 || all.Expired != 0 {
		t.Errorf("%s: %+v, want %d grants of %d contenders, all but one handed over", variant, all, grants, sessions)
	}
	hold := 0.0
	for _, c := range cell.Checks {
		if i := slices.IndexFunc(c.Judges, func(j results.Judge) bool { return j.By == "clock" }); i >= 0 {
			hold = 1000 * c.Judges[i].Held / float64(grants)
		}
	}
	at := func(seconds float64) time.Time { return cell.Started.Add(time.Duration(seconds * 1e9)) }
	steady, handOff := l.recipe(t, traffic.Lock, variant, at(cell.Steady.From), at(cell.Steady.To)), cell.Latency["hand-off.service"]
	near(t, variant, "hold in the mean", steady.HoldMS.Mean, hold+handOff.Mean)
	near(t, variant, "hold in the median", float64(steady.HoldMS.P50), hold+handOff.P50)
	if steady.Most != sessions {
		t.Errorf("%s: %d contenders at most in the steady phase, want %d", variant, steady.Most, sessions)
	}
}

// queue compares a queue of two producers and two consumers, which is deep at first and empty in the end.
func (l loaded) queue(t *testing.T, variant string) {
	const preload, deep = 100, 20
	cell, details := l.run(t, "queues", variant, "sessions=[4]", "hold=50ms", "duration=8s", "drain=6s", "rate=20/s", "preload=100", "bound=0", "saturation=allowed")
	from := cell.Started.Truncate(time.Millisecond)
	all := l.recipe(t, traffic.Queue, variant, from, time.Time{})
	came, left := int64(0), int64(0) // of those that came, what was taken, and what the run found and removed
	for _, d := range details.Depths {
		came, left = came+int64(d.Taken), int64(d.Items)
	}
	came += left
	if all.Puts != came || all.Takes != preload+came || all.Depth != 0 || all.Most < preload || all.Bytes.Count != came || all.Bytes.Min != 100 || all.Bytes.Max != 100 {
		t.Errorf("%s: %+v, want %d takes of %d items that were there and %d that came", variant, all, preload+came, preload, came)
	}
	last := slices.IndexFunc(details.Depths, func(d results.Depth) bool { return d.Items < deep })
	if last < 1 {
		t.Fatalf("%s: the queue is never deep, or always: %+v", variant, details.Depths)
	}
	sum := 0
	for _, d := range details.Depths[:last] {
		sum += d.Items
	}
	length := details.Depths[last-1].AtMs
	part := l.recipe(t, traffic.Queue, variant, from, from.Add(time.Duration(length*1e6)))
	claimed := float64(part.HoldMS.Count) * part.HoldMS.Mean / length // at a time: the run counts these as taken
	near(t, variant, "depth in the mean", part.Mean-claimed, float64(sum)/float64(last))
	switch claims := all.HoldMS; {
	case variant == "claim" || variant == kazooDriver:
		if claims.Count < all.Takes-left || claims.P50 < 50 { // a claim of an item that is gone is given back
			t.Errorf("%s: %+v, want a claim for each of %d takes, and 50 ms of work on most", variant, claims, all.Takes-left)
		}
	case claims.Count > 0:
		t.Errorf("%s: %+v, want no claims", variant, claims)
	}
}
