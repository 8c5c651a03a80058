package bubble

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Run runs a test on an ensemble in memory, closes the remaining sessions, and checks for leftover znodes.
func Run(t *testing.T, name string, test func(*testing.T, *zktest.Ensemble)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ens := zktest.New(zktest.Config{})
			defer func() { // also after a test that gave up: its goroutines would otherwise keep the bubble alive
				for _, s := range ens.Sessions() {
					s.Close()
				}
				if left := ens.Ephemerals(); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
			}()
			test(t, ens)
		})
	})
}

// OK fails the test if err is not nil.
func OK(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Find returns the variant of that name.
func Find[T any](t *testing.T, catalogue []recipes.Variant[T], name string) recipes.Variant[T] {
	t.Helper()
	v, ok := recipes.Find(catalogue, name)
	if !ok {
		t.Fatalf("no variant %s", name)
	}
	return v
}

// InOrder returns the variants of a catalogue that grant in the order of arrival.
func InOrder[T any](catalogue []recipes.Variant[T]) []recipes.Variant[T] {
	return slices.DeleteFunc(slices.Clone(catalogue), func(v recipes.Variant[T]) bool { return !v.FIFO })
}

// Each runs a test for each variant, each on its own ensemble in memory.
func Each[T any](t *testing.T, variants []recipes.Variant[T], test func(*testing.T, recipes.Variant[T], *zktest.Ensemble)) {
	for _, v := range variants {
		Run(t, v.Name, func(t *testing.T, ens *zktest.Ensemble) { test(t, v, ens) })
	}
}

// Dir is where the handles of tests have their znodes.
const Dir = "/locks/a"

// MakeDir makes Dir, for recipes that need it to exist.
func MakeDir(t *testing.T, s zk.Session) {
	t.Helper()
	for _, path := range []string{"/locks", Dir} {
		if _, err := s.Create(t.Context(), path, nil, zk.Persistent); err != nil {
			t.Fatal(err)
		}
	}
}

// Second returns the error of a call whose result the test does not need.
func Second[T any](_ T, err error) error { return err }

// DialIn dials sessions that end with the test.
func DialIn(ens *zktest.Ensemble) func(*testing.T) zk.Session {
	return func(t *testing.T) zk.Session {
		s := ens.Dial()
		t.Cleanup(func() { s.Close() })
		return s
	}
}
