package main

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/scenarios"
	scenes "github.com/zkbench/zkbench/scenarios/stores"
)

// Each stage does what is expected of it in each scenario: its flaws show, and those that the next stage fixes no longer show there.
func TestScenarios(t *testing.T) {
	started(t, 1)
	redis := slices.DeleteFunc(scenarios.Variants(scenes.Expectations), func(v string) bool { return v == "etcd" })
	played := 0
	found, err := scenes.Run(t.Context(), scenes.Config{Drivers: map[string]string{"redis": program}, Config: scenarios.Config{Variants: redis, Parallel: 6,
		Played: func(int, int, scenarios.Finding) { played++ }}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.Err != nil || f.Seen != f.Expect || f.Witness == "" {
			t.Errorf("%s in %s: %q, want %q: %s, %v", f.Variant, f.Scenario, f.Seen, f.Expect, f.Witness, f.Err)
			continue
		}
		t.Logf("%s in %s: %q, %s", f.Variant, f.Scenario, f.Seen, f.Witness)
	}
	if played != len(found) || played < 30 {
		t.Errorf("%d of %d trials were told", played, len(found))
	}
}
