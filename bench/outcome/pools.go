package outcome

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// pool adds up the histograms of the repetitions of a cell: percentiles over all of them cannot be computed from those of each.
type pool struct {
	cells     []int // by index in the document
	latencies map[string]results.Latency
	packed    []packed // encoded, because a histogram that still accepts samples is much larger
}

type packed struct {
	key                metrics.Key
	payload            []byte
	overflow, negative int64
}

// add adds the steady phase of another repetition.
func (p *pool) add(place int, one *metrics.Set, ops []metrics.Op) error {
	totals := &metrics.Set{}
	totals.Merge(one)
	for _, one := range p.packed {
		h, err := metrics.DecodeHistogram(one.payload)
		if err != nil {
			return err
		}
		h.AddOutside(one.overflow, one.negative)
		totals.Fold(one.key, h)
	}
	p.cells, p.latencies, p.packed = append(p.cells, place), results.Latencies(totals, ops...), nil
	for key, h := range totals.All() {
		payload, err := h.Encode()
		if err != nil {
			return err
		}
		p.packed = append(p.packed, packed{key, payload, h.Overflow(), h.Negative()})
	}
	return nil
}

// repeated adds a cell to the pools of its repetitions, and writes the pools into the document: one of all repetitions and, if some were cut short, one of
// the others.
func (d *Document) repeated(c *Cell) error {
	if c.Profile.Repetitions < 2 {
		return nil
	}
	if d.pools == nil {
		d.pools = map[string]*pool{}
	}
	place, name := len(d.Cells)-1, c.Group()
	for _, into := range []string{name, name + " whole"} {
		if into != name && d.Cells[place].Partial {
			continue
		}
		if d.pools[into] == nil {
			d.pools[into] = &pool{}
			d.pooled = append(d.pooled, into)
		}
		if err := d.pools[into].add(place, c.Totals, workloads.Ops(c.Work)); err != nil {
			return fmt.Errorf("add up the repetitions of %s: %w", name, err)
		}
	}
	d.Pools = nil
	for _, name := range d.pooled {
		p := d.pools[name]
		there := slices.ContainsFunc(d.Pools, func(other results.Pool) bool { return slices.Equal(other.Cells, p.cells) })
		if len(p.cells) > 1 && !there {
			d.Pools = append(d.Pools, results.Pool{Cells: p.cells, Latency: p.latencies})
		}
	}
	return nil
}
