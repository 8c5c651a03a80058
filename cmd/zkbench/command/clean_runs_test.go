package command

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
)

var cleanRuns = flag.Int("clean-runs", 0, "how many runs of right recipes, a few seconds each, to look for false alarms in")

var cleanFrom = flag.Int("clean-from", 0, "the number of the first of them: each number is a run of its own")

// cleanProfiles returns the built-in profiles that this machine can run: all but those with servers in containers, and those of drivers only.
func cleanProfiles(t *testing.T) []profiles.Profile {
	return slices.DeleteFunc(builtins(t, ""), func(p profiles.Profile) bool {
		own := func(variant string) bool { return !strings.HasPrefix(variant, "driver:") }
		return strings.HasPrefix(p.Ensemble[0], "compose:") || p.Workload == playStores().Name || !slices.ContainsFunc(p.Variants, own)
	})
}

// Every built-in profile can be shortened, in every turn of its variants, and is then valid.
func TestShortenedProfiles(t *testing.T) {
	for _, p := range cleanProfiles(t) {
		for turn := range 6 {
			short := shortened(t, p, rand.New(rand.NewPCG(uint64(turn), 0)), turn)
			again, err := setup().Catalogue().Load(write(t, short))
			if err != nil {
				t.Fatal(err)
			}
			if err := setup().Check(again); err != nil {
				t.Errorf("%s shortened: %v", p.Name, err)
			}
			if length := again.Warmup + again.Duration + again.Drain; length > 3*time.Minute || len(again.Sessions) == 1 && again.Sessions[0] > 100 {
				t.Errorf("%s shortened takes %v with %v sessions", p.Name, length, again.Sessions)
			}
		}
	}
}

// A correct recipe ends its run with exit code 0, whatever the profile, the variant, the engine and the sizes: every alarm is false.
func TestCleanRuns(t *testing.T) {
	if *cleanRuns == 0 {
		t.Skip("a soak: 'make clean-runs' runs it")
	}
	servers := strings.Join(ensembletest.Start(t, 3, func(c *local.Config) { c.NoFsync = true }).Addresses(), ",")
	places := make(chan struct{}, *atOnce)
	clean := cleanProfiles(t)
	var all sync.WaitGroup
	for i := *cleanFrom; i < *cleanFrom+*cleanRuns; i++ {
		p := shortened(t, clean[i%len(clean)], rand.New(rand.NewPCG(uint64(i), 0)), i/len(clean))
		args := []string{"run", write(t, p), "--quiet"}
		if len(p.Faults) == 0 && p.SecureWay() == "" { // profiles that break or secure servers need their own
			args = append(args, "--servers", servers, "--root", fmt.Sprintf("/clean/run-%d", i))
		}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			t.Run(fmt.Sprintf("%d of %s", i, p.Name), func(t *testing.T) { cleanRun(t, args) })
		})
	}
	all.Wait()
}

func cleanRun(t *testing.T, args []string) {
	dir := out(t)
	o := zkbench(t, append(args, "--out", dir)...)
	if o.code == exitUnknown { // no alarm: next to seven others a run may do too little
		t.Logf("once more, because it had not enough evidence: %s", o.stderr)
		dir = out(t)
		o = zkbench(t, append(args, "--out", dir)...)
	}
	if o.code == exitOK {
		return
	}
	doc, err := results.Read(dir)
	if err == nil && serversLost(doc) {
		t.Logf("no alarm about the recipe: %s", o.stderr)
		return
	}
	t.Errorf("exit %d of zkbench %s: %s", o.code, strings.Join(args, " "), o.stderr)
	if err == nil {
		logChecks(t, doc)
	}
}

// serversLost reports whether the only violations are that the servers lost what they had acknowledged.
func serversLost(doc *results.Run) (lost bool) {
	for _, c := range doc.Cells {
		for _, k := range c.Checks {
			switch {
			case k.Verdict == "violated" && k.Name == "servers-agree":
				lost = true
			case k.Verdict == "violated":
				return false
			}
		}
	}
	return lost
}
