package results

import "testing"

func TestConditionsTellLoadsApart(t *testing.T) {
	base := Cell{Workload: "lock", Variant: "naive", Sessions: 5, Objects: 1, Loop: "open", RatePerS: 100, Repetition: 1, Parameters: map[string]any{"hold": "5ms", "members": 3}}
	for _, c := range []struct {
		about string
		alter func(*Cell)
		same  bool
	}{
		{"nothing", func(*Cell) {}, true},
		{"another repetition", func(c *Cell) { c.Repetition, c.Name = 2, "x" }, true},
		{"a number as JSON has it", func(c *Cell) { c.Parameters = map[string]any{"members": 3.0, "hold": "5ms"} }, true},
		{"a variant", func(c *Cell) { c.Variant = "predecessor" }, false},
		{"a workload", func(c *Cell) { c.Workload = "queue" }, false},
		{"sessions", func(c *Cell) { c.Sessions = 6 }, false},
		{"objects", func(c *Cell) { c.Objects = 2 }, false},
		{"a rate", func(c *Cell) { c.RatePerS = 101 }, false},
		{"a loop", func(c *Cell) { c.Loop, c.RatePerS = "closed", 0 }, false},
		{"a parameter", func(c *Cell) { c.Parameters = map[string]any{"hold": "6ms", "members": 3} }, false},
		{"a parameter more", func(c *Cell) { c.Parameters = map[string]any{"hold": "5ms", "members": 3, "think": "1s"} }, false},
	} {
		other := base
		c.alter(&other)
		if got := base.Same(other); got != c.same {
			t.Errorf("%s: Same = %v, want %v", c.about, got, c.same)
		}
	}
}
