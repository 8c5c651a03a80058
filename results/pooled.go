package results

import (
	"maps"
	"slices"
)

// Pooled returns the cells of a run, with those of the same workload and variant under the same conditions merged into one: counts are added up, rates
// and figures per operation cover all that was done, and percentiles come from the added histograms (Run.Pools), never from means of percentiles.
// If the document has no pool of them, times are unknown. Figures that only make sense for a single repetition, such as fairness, are left
// out. Cells that were cut short are not merged.
func (r *Run) Pooled() []Cell {
	var all []Cell
	var of [][]int
	for i, c := range r.Cells {
		if c.Partial {
			continue
		}
		if j := slices.IndexFunc(all, c.Same); j >= 0 {
			of[j] = append(of[j], i)
			continue
		}
		all, of = append(all, c), append(of, []int{i})
	}
	for j, cells := range of {
		if len(cells) > 1 {
			all[j] = r.pool(cells)
		}
	}
	return all
}

// pool merges several repetitions into one cell.
func (r *Run) pool(cells []int) Cell {
	first := r.Cells[cells[0]]
	p := Cell{Workload: first.Workload, Variant: first.Variant, Unsafe: first.Unsafe, Sessions: first.Sessions, Objects: first.Objects,
		Parameters: first.Parameters, Meanings: first.Meanings, Environment: first.Environment, Loop: first.Loop, RatePerS: first.RatePerS, Offered: first.Offered, Started: first.Started, Scope: first.Scope,
		Measured: first.Measured, Measures: first.Measures, Counted: first.Counted, CostPer: first.CostPer, Ownerless: first.Ownerless,
		Done: map[string]int64{}, Latency: map[string]Latency{}, Errors: map[string]int64{}}
	for _, of := range r.Pools {
		if slices.Equal(slices.Sorted(slices.Values(of.Cells)), cells) {
			p.Latency = of.Latency
		}
	}
	for _, i := range cells {
		c := r.Cells[i]
		p.ElapsedS += c.ElapsedS
		p.Operations += c.Operations
		p.Due += c.Due
		p.Unserved += c.Unserved
		p.Saturated = p.Saturated || c.Saturated
		for op, n := range c.Done {
			p.Done[op] += n
		}
		for kind, n := range c.Errors {
			p.Errors[kind] += n
		}
		p.Checks = append(p.Checks, c.Checks...)
	}
	if p.ElapsedS > 0 {
		p.Throughput, p.OfferedPerS = float64(doneOfCounted(p))/p.ElapsedS, float64(p.Due)/p.ElapsedS
	}
	p.figures(r.Cells, cells)
	return p
}

// figures averages the counts per operation: each repetition weighs as much as was done in it.
func (p *Cell) figures(all []Cell, cells []int) {
	cpu := weighted{}
	costs, requests := map[string]*weighted{}, map[string]*weighted{}
	var fanout *Fanout
	var useful, perRelease, lists, names, bytes, byRelease, byArrival, byBoth, stale weighted
	for _, i := range cells {
		c := all[i]
		cpu.add(c.Generator.CPUPerOp, doneOfCounted(c))
		for _, cost := range c.Costs {
			at(costs, cost.Of).add(cost.Measured, costedOf(c))
		}
		grants := grantsOf(&c)
		if f := c.Fanout; f != nil {
			fanout = &Fanout{TheoryPerRelease: f.TheoryPerRelease}
			releases := releasesOf(&c)
			perRelease.add(f.EventsPerRelease, releases)
			byRelease.add(f.EventsByRelease, releases)
			byArrival.add(f.EventsByArrival, releases)
			byBoth.add(f.EventsByBoth, releases)
			stale.add(f.EventsStale, releases)
			lists.add(f.ListsPerAcquire, grants)
			names.add(f.ChildrenNamesPerAcquire, grants)
			bytes.add(f.ChildrenBytesPerAcquire, grants)
			if f.UsefulShare != nil {
				useful.sum += *f.UsefulShare * f.EventsPerRelease * float64(releases)
				useful.n += f.EventsPerRelease * float64(releases)
			}
			for _, kind := range append([]string{"failed_writes"}, requestKinds...) { // a kind without a key was never sent
				at(requests, kind).add(c.Cost[kind], grants)
			}
		}
	}
	p.Generator.CPUPerOp = cpu.mean()
	for _, cost := range all[cells[0]].Costs {
		p.Costs = append(p.Costs, Cost{Of: cost.Of, Measured: costs[cost.Of].mean(), Theory: cost.Theory})
	}
	if fanout == nil {
		return
	}
	fanout.EventsPerRelease, fanout.EventsByRelease, fanout.EventsByArrival = perRelease.mean(), byRelease.mean(), byArrival.mean()
	fanout.EventsByBoth, fanout.EventsStale, fanout.ListsPerAcquire = byBoth.mean(), stale.mean(), lists.mean()
	fanout.ChildrenNamesPerAcquire, fanout.ChildrenBytesPerAcquire = names.mean(), bytes.mean()
	if fanout.TheoryPerRelease > 0 {
		fanout.RatioToTheory = fanout.EventsPerRelease / fanout.TheoryPerRelease
	}
	if useful.n > 0 {
		share := useful.mean()
		fanout.UsefulShare = &share
	}
	p.Fanout, p.Cost = fanout, map[string]float64{}
	for _, kind := range slices.Sorted(maps.Keys(requests)) {
		if requests[kind].sum > 0 {
			p.Cost[kind] = requests[kind].mean()
		}
	}
}

// weighted is a mean weighted by what was done.
type weighted struct{ sum, n float64 }

func (w *weighted) add(x float64, n int64) { w.sum, w.n = w.sum+x*float64(n), w.n+float64(n) }

func (w weighted) mean() float64 {
	if w.n == 0 {
		return 0
	}
	return w.sum / w.n
}

func at(all map[string]*weighted, key string) *weighted {
	if all[key] == nil {
		all[key] = &weighted{}
	}
	return all[key]
}
