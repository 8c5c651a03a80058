package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/plan"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/profiles"
)

// Warnings returns, in sentences, what is impossible in the load of a checked profile, however fast the servers are: more operations offered than
// its objects can be held for, or than its sessions have time for. It also returns the violations that the profile is too short to show.
func (b Setup) Warnings(p profiles.Profile) []string {
	return slices.Concat(b.impossible(p), b.blindness(p))
}

func (b Setup) impossible(p profiles.Profile) (all []string) {
	kind, known := b.workload(p.Workload)
	if !known || kind.Holders == nil {
		return nil
	}
	for _, s := range plan.Cells(p) {
		l := s.Load("")
		held, holders := kind.Held(l), kind.Holders(l)
		if s.Rate == 0 || held <= 0 || holders <= 0 || s.Rate*held.Seconds() <= holders {
			continue
		}
		text := fmt.Sprintf("%s/s on %s held for %s is impossible: at most %s/s can be granted, however fast the servers are (lower the rate, raise objects, or shorten hold)",
			phrase.Number(s.Rate, 4), phrase.Count(l.Objects(), "object"), phrase.Duration(held), phrase.Number(holders/held.Seconds(), 3))
		if b := kind.Busy; b != nil {
			text = fmt.Sprintf("%s/s for %s with %s %s is impossible: at most %s/s can %s, however fast the servers are (%s)",
				phrase.Number(s.Rate, 4), phrase.Count(int(holders), b.Who), phrase.Duration(held), b.With, phrase.Number(holders/held.Seconds(), 3), b.Can, b.Remedy)
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return all
}

// unexcused are the faults that do not excuse a stall of one of zkbench's own sessions.
var unexcused = []string{profiles.CutReply, profiles.CutRequest, profiles.Reset, profiles.RepeatEvents, profiles.DropEvents, profiles.MassExpiry, profiles.ReadStorm}

// blindness says why a profile cannot show a stall. Some stalls show only after two session timeouts and need a longer cell: the stall of a driver, whose
// requests are not seen, one whose waiters give up within the time that a wake-up may take, and one after a fault that excuses it.
func (b Setup) blindness(p profiles.Profile) (all []string) {
	kind, known := b.workload(p.Workload)
	if !known || kind.Holders == nil || p.Duration == 0 {
		return nil
	}
	bound := plan.Cell{Point: p}.Load("").Stall
	length := p.Warmup + p.Duration + p.Overtime + p.Drain
	left, last := length, ""
	for _, f := range p.Faults {
		if slices.Contains(unexcused, f.Kind) {
			continue
		}
		if rest := p.Duration + p.Overtime + p.Drain - f.At - f.For; f.Every == 0 && rest < left {
			left, last = rest, f.Kind
		}
	}
	add := func(what string) {
		all = append(all, fmt.Sprintf("%s cannot violate liveness: that takes more than two session timeouts (%s), and %s; it is unknown then (use a longer drain, which ends early "+
			"when nobody waits, or a shorter session_timeout)", what, phrase.Duration(bound), map[bool]string{
			true: fmt.Sprintf("warm-up, duration and drain are %s", phrase.Duration(length)), false: fmt.Sprintf("%s are left after the fault %s", phrase.Duration(left), last)}[last == ""]))
	}
	external := slices.ContainsFunc(p.Variants, func(v string) bool { return strings.HasPrefix(v, profiles.DriverPrefix) })
	switch {
	case left > bound:
	case last != "":
		add("a stall after a fault")
	case external:
		add("a stall of a driver")
	case p.Deadline > 0 && p.Deadline <= 2*load.LeastQuick:
		add(fmt.Sprintf("a stall with deadlines of %s", phrase.Duration(p.Deadline)))
	}
	return all
}
