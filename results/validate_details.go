package results

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// details checks details.jsonl against the document and intervals.hlog: all of them must count the same operations.
func (v *validation) details(all map[string]Details, log map[string]*metrics.Histogram) {
	left := maps.Clone(all)
	for i, c := range v.r.Cells {
		d, has := all[c.Name]
		delete(left, c.Name)
		if !has || c.Partial {
			continue
		}
		v.where = cellName(i, c) + " in " + DetailsFile
		if o := d.Opening; o != nil && o.Count != int64(v.r.Share.Of(c.Sessions)) {
			v.add("%d sessions were opened, but there are %d", o.Count, v.r.Share.Of(c.Sessions))
		}
		v.cohorts(c, d, log)
		v.places(c, d)
		v.deal(c, d)
		v.strips(d)
		for k, q := range d.Depths {
			if q.Items < 0 || q.Taken < 0 || (q.P50 != nil) != (q.Taken > 0) || k > 0 && q.AtMs < d.Depths[k-1].AtMs {
				v.add("invalid depth %d: %+v", k, q)
			}
		}
		v.leaderless(c, d)
		v.arrivals(c, d)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if !v.r.Partial {
			v.where = DetailsFile
			v.add("%s is not a cell of %s", name, RunFile)
		}
	}
}

// cohorts checks that each cohort has the operations that the histogram has between its bounds, and that its parts do not exceed their responses.
func (v *validation) cohorts(c Cell, d Details, log map[string]*metrics.Histogram) {
	for _, x := range d.Cohorts {
		n, parts := int64(0), 0.0
		if h := log[c.Name+"/"+x.Op+".response"]; h != nil {
			for slot, k := range h.Slots() {
				if inMs := float64(time.Millisecond); float64(slot[0])/inMs >= x.LowMs*(1-1e-9) && float64(slot[1]-1)/inMs <= x.HighMs*(1+1e-9) {
					n += k
				}
			}
		}
		for _, p := range x.PartsMs {
			parts += p
		}
		if n != x.Count {
			v.add("the cohort of p%v of %s has %d, but %s has %d with such responses", x.Percentile, x.Op, x.Count, IntervalsFile, n)
		}
		if parts > x.ResponseMs*(1+tolerance)+resolution {
			v.add("the parts of the cohort of p%v of %s sum to %v ms, but its responses to %v ms", x.Percentile, x.Op, parts, x.ResponseMs)
		}
	}
}

// places checks that each grant of the steady phase has a place.
func (v *validation) places(c Cell, d Details) {
	n, want := int64(0), int64(0)
	for _, p := range d.Places {
		n += p.Count
		if (p.P99 != nil) != (p.Count >= EnoughForP99) {
			v.add("places %d to %d have %d samples, but p99 known: %v", p.From, p.To, p.Count, p.P99 != nil)
		}
	}
	for _, op := range wholes {
		l := c.Latency[op+".response"]
		want += l.Count + l.Overflow + l.Negative
	}
	if len(d.Places) > 0 && n != want {
		v.add("%d grants have a place, but there are %d", n, want)
	}
}

// deal checks that the grants per session and the overtakings count the same grants, and match the summary in cost.
func (v *validation) deal(c Cell, d Details) {
	grants := 0
	for _, o := range d.Overtaken {
		grants += o.Grants
	}
	if n := len(d.Overtaken); n > 0 {
		last := d.Overtaken[n-1]
		if most := int(c.Cost["overtakes_max"]); most < last.From || most > last.To {
			v.add("at most %d overtakes, but %d to %d by the last line", most, last.From, last.To)
		}
	}
	if len(d.Shares) == 0 {
		return
	}
	last := d.Shares[len(d.Shares)-1]
	if last.Grants != grants {
		v.add("the sessions had %d grants, but %d were judged for overtaking", last.Grants, grants)
	}
	if last.Sessions != len(d.Shares) { // not all of them are listed individually
		return
	}
	before, squares := 0.0, 0.0
	for _, s := range d.Shares {
		own := float64(s.Grants) - before
		before, squares = float64(s.Grants), squares+own*own
	}
	if jain := before * before / (float64(last.Sessions) * squares); squares > 0 && math.Abs(jain-c.Cost["fairness_jain"]) > 1e-9 {
		v.add("the sessions' fairness is %v, but fairness_jain is %v", jain, c.Cost["fairness_jain"])
	}
}

// leaderless checks that the steps cover the steady phase and that their times match the share in cost, for as many elections as somebody wanted to lead.
func (v *validation) leaderless(c Cell, d Details) {
	n := len(d.Leaderless)
	if n == 0 {
		return
	}
	free, longest, at := 0.0, 0.0, 1e3*c.Steady.From
	for k, x := range d.Leaderless {
		free, longest = free+x.FreeMs, max(longest, x.LongestMs)
		if x.UntilMs < at || x.FreeMs < 0 || x.FreeMs > (x.UntilMs-at+resolution)*float64(c.Objects) || (x.Gaps > 0) != (x.LongestMs > 0) {
			v.add("invalid step %d without a leader: %+v after %v ms", k, x, at)
		}
		at = x.UntilMs
	}
	length := 1e3 * (c.Steady.To - c.Steady.From)
	if share := c.Cost["ownerless_share"]; share > 0 {
		if elections := free / length / share; math.Abs(at-1e3*c.Steady.To) > resolution || elections > float64(c.Objects)*(1+tolerance)+resolution ||
			math.Abs(elections-math.Round(elections)) > tolerance*elections+resolution {
			v.add("nobody led for %v ms of %v ms, but ownerless_share of %d elections is %v", free, length, c.Objects, share)
		}
	}
	for _, s := range d.Strips {
		if s.Why == StripGap && math.Abs(s.UntilMs-s.AtMs-longest) > resolution {
			v.add("nobody led for at most %v ms, but the longest gap is %v ms", longest, s.UntilMs-s.AtMs)
		}
	}
}

// arrivals checks that every rank arrives and leaves after the previous one.
func (v *validation) arrivals(c Cell, d Details) {
	for _, a := range d.Arrivals {
		if n := c.Latency[a.Op+".response"].Count; n < int64(a.Rounds) {
			v.add("%d rounds of %s are summarized, but %d succeeded", a.Rounds, a.Op, n)
		}
		for k, r := range a.Ranks {
			if r.BeforeP50 < 0 || r.AfterP50 < 0 || r.BeforeP90 < r.BeforeP50 || r.AfterP90 < r.AfterP50 || k > 0 && (r.Members <= a.Ranks[k-1].Members ||
				r.BeforeP50 > a.Ranks[k-1].BeforeP50 || r.AfterP50 < a.Ranks[k-1].AfterP50) {
				v.add("invalid rank %d of %s: %+v", k, a.Op, r)
			}
		}
	}
}

// strips checks that the events of a strip lie within its time.
func (v *validation) strips(d Details) {
	for _, s := range d.Strips {
		var times []Stretch
		for _, t := range slices.Concat(s.Holds, s.Waits) {
			times = append(times, Stretch{t.FromMs, t.ToMs})
		}
		for _, t := range append(times, s.Idle...) {
			if t.FromMs < s.FromMs-1e-6 || t.ToMs > s.ToMs+1e-6 || t.ToMs < t.FromMs {
				v.add("a strip from %v ms to %v ms has an interval from %v ms to %v ms", s.FromMs, s.ToMs, t.FromMs, t.ToMs)
			}
		}
	}
}

// Together returns the periods in which more sessions held the object than may: two of which one does not share, or more than its permits.
func (s Strip) Together() (all []Tenure) {
	for i, a := range s.Holds {
		with := 1
		for k, b := range s.Holds {
			if k == i || b.FromMs > a.FromMs || b.FromMs == a.FromMs && k > i || b.ToMs <= a.FromMs || a.ToMs <= a.FromMs {
				continue
			}
			if with++; s.Permits == 0 && !(a.Shared && b.Shared) || s.Permits > 0 && with > s.Permits {
				all = append(all, Tenure{Session: a.Session, FromMs: a.FromMs, ToMs: min(a.ToMs, b.ToMs)})
				break
			}
		}
	}
	return all
}
