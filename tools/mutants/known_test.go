package main

import (
	"testing"

	"github.com/zkbench/zkbench/internal/tier"
)

// Every line of docs/mutants.md is a change that the tool makes to the current code.
func TestKnownChangesAreOfTheCode(t *testing.T) {
	tier.Long(t, "makes every change of the code; none shorter can exist")
	t.Chdir("../..")
	known, err := readKnown("docs/mutants.md")
	if err != nil {
		t.Fatal(err)
	}
	b := builder{dir: t.TempDir()}
	if err := b.change([]string{"./check", "./recipes/...", "./zk/wire", "./internal/jute"}); err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, m := range b.mutants {
		there[m.String()] = true
	}
	for change := range known {
		if !there[change] {
			t.Errorf("docs/mutants.md has a line for %q, which no code has", change)
		}
	}
	if len(known) < 50 {
		t.Errorf("only %d lines read", len(known))
	}
}
