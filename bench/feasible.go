package bench

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
)

// Warnings are what cannot be in the load of a checked profile, however fast the servers are, in sentences: more operations offered than its
// objects can be held for, or its sessions have time for.
func (b Setup) Warnings(p profiles.Profile) (all []string) {
	kind, known := b.workload(p.Workload)
	if !known || kind.Holders == nil {
		return nil
	}
	for _, s := range plan(p) {
		l := load(s, "")
		held, holders := kind.Held(l), kind.Holders(l)
		if s.rate == 0 || held <= 0 || holders <= 0 || s.rate*held.Seconds() <= holders {
			continue
		}
		text := fmt.Sprintf("%s/s on %s held for %s is impossible: at most %s/s can be granted, however fast the servers are (lower the rate, raise objects, or shorten hold)",
			phrase.Number(s.rate, 4), phrase.Count(l.Objects(), "object"), phrase.Duration(held), phrase.Number(holders/held.Seconds(), 3))
		if b := kind.Busy; b != nil {
			text = fmt.Sprintf("%s/s for %s with %s %s is impossible: at most %s/s can %s, however fast the servers are (%s)",
				phrase.Number(s.rate, 4), phrase.Count(int(holders), b.Who), phrase.Duration(held), b.With, phrase.Number(holders/held.Seconds(), 3), b.Can, b.Remedy)
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return all
}
