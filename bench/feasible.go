package bench

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
)

// Warnings are what cannot be in the load of a checked profile, however fast the servers are, in sentences: more operations offered than its
// objects can be held for, or its consumers work on.
func (b Setup) Warnings(p profiles.Profile) (all []string) {
	kind, known := b.workload(p.Workload)
	if !known || kind.Holders == nil {
		return nil
	}
	for _, s := range plan(p) {
		l := load(s, "")
		held, holders := l.Hold().Average(), kind.Holders(l)
		if s.rate == 0 || held <= 0 || holders <= 0 || s.rate*held.Seconds() <= holders {
			continue
		}
		text := fmt.Sprintf("%s/s on %s held for %s cannot be: at most %s/s can be granted, however fast the servers are (lower the rate, raise objects, or shorten hold)",
			phrase.Number(s.rate, 4), phrase.Count(l.Objects(), "object"), phrase.Duration(held), phrase.Number(holders/held.Seconds(), 3))
		if kind.Works {
			text = fmt.Sprintf("%s/s for %s that work for %s on each cannot be: at most %s/s can be taken, however fast the servers are (lower the rate or producers, raise sessions, or shorten hold)",
				phrase.Number(s.rate, 4), phrase.Count(int(holders), "consumer"), phrase.Duration(held), phrase.Number(holders/held.Seconds(), 3))
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return all
}
