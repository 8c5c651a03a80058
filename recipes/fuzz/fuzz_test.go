// Package fuzz_test looks for defects of recipes. Clients use a recipe on an ensemble in memory while requests and replies are lost, connections
// break, servers lag, sessions expire and contexts end at any moment. Referees check that the recipe keeps its promise all the same, and that it
// works and has left nothing when the faults have ended.
//
//	go test ./recipes/fuzz -run Fuzz -seeds 1000                   more seeds for each recipe
//	go test ./recipes/fuzz -run 'Fuzz.*/lock/naive' -seed 17 -v    a single seed, with its log
//
// Everything is drawn from the seed: the settings of the run, the options of the recipe, what each client does, the script of faults, and the
// fate of each request, which depends only on its session and its number. No two messages arrive at the same instant. So a seed reproduces its run.
package fuzz_test

import (
	"flag"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/cryptotest"
)

var (
	seeds = flag.Int("seeds", 6, "how many runs of each recipe")
	first = flag.Uint64("first", 1, "the first seed")
	one   = flag.Uint64("seed", 0, "the seed of a single run; 0: as many as -seeds says")
)

func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1) // with one thread, the goroutines of a bubble run in the same order for the same seed
	flag.Parse()
	os.Exit(m.Run())
}

// game is one recipe to be fuzzed.
type game struct {
	name string
	make func(w *world) player
}

func TestFuzzRecipes(t *testing.T) {
	for _, g := range games() {
		t.Run(g.name, func(t *testing.T) {
			from, n := *first, *seeds
			if *one != 0 {
				from, n = *one, 1
			}
			bad := 0
			for seed := from; seed < from+uint64(n) && bad < 3; seed++ {
				w := play(t, seed, g)
				if len(w.problems) > 0 {
					bad++
					t.Errorf("seed %d (%+v): %s\n%s", seed, w.set, strings.Join(w.problems, "\n\t"), tail(w.log))
				} else if *one != 0 {
					t.Logf("seed %d (%+v):\n%s", seed, w.set, strings.Join(w.log, "\n"))
				}
			}
		})
	}
}

func play(t *testing.T, seed uint64, g game) (w *world) {
	t.Run("", func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, seed)
		w = run(t, seed, g.make)
	})
	return w
}

// tail returns the end of a log, or all of it if a single seed was asked for.
func tail(log []string) string {
	if *one == 0 && len(log) > 60 {
		log = append([]string{"..."}, log[len(log)-60:]...)
	}
	return strings.Join(log, "\n")
}

// A seed reproduces its run. When two things happen to a goroutine at the same instant, Go chooses at random, so a few runs may differ.
func TestFuzzIsTheSameForTheSameSeed(t *testing.T) {
	if raced {
		t.Skip("the race detector schedules goroutines at random")
	}
	all, same := 0, 0
	for _, g := range games() {
		a, b := play(t, *first, g), play(t, *first, g)
		if all++; a.digest() == b.digest() {
			same++
			continue
		}
		t.Logf("%s: two runs of seed %d differ:\n%s", g.name, *first, difference(a.log, b.log))
	}
	if same < all*9/10 {
		t.Errorf("%d of %d runs were reproduced, want at least nine tenths", same, all)
	}
}

func difference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] + "\n" + b[i]
		}
	}
	return "one is longer"
}
