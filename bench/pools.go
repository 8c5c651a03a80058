package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/workloads"
)

// pool adds up the histograms of the repetitions of a cell: percentiles of all of them cannot be told from those of each.
type pool struct {
	cells     []int // by their places in the document
	latencies map[string]results.Latency
	packed    []packed // a histogram is much larger while samples can be added to it
}

type packed struct {
	key                metrics.Key
	payload            []byte
	overflow, negative int64
}

// add adds the steady phase of one more repetition.
func (p *pool) add(place int, totals *metrics.Set, ops []metrics.Op) error {
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

// repeated takes a cell into the pools of its repetitions, and writes the pools into the document: one of all of them and, where some were cut short,
// one of the others.
func (r *runner) repeated(c *cell) error {
	if r.profile.Repetitions < 2 {
		return nil
	}
	if r.pools == nil {
		r.pools = map[string]*pool{}
	}
	place, name := len(r.doc.Cells)-1, strings.TrimSuffix(c.tag(), "-r"+strconv.Itoa(c.repetition))
	for _, into := range []string{name, name + " whole"} {
		if into != name && r.doc.Cells[place].Partial {
			continue
		}
		if r.pools[into] == nil {
			r.pools[into] = &pool{}
			r.pooled = append(r.pooled, into)
		}
		if err := r.pools[into].add(place, c.collector.Totals(), workloads.Ops(c.work)); err != nil {
			return fmt.Errorf("add up the repetitions of %s: %w", name, err)
		}
	}
	r.doc.Pools = nil
	for _, name := range r.pooled {
		p := r.pools[name]
		there := slices.ContainsFunc(r.doc.Pools, func(other results.Pool) bool { return slices.Equal(other.Cells, p.cells) })
		if len(p.cells) > 1 && !there {
			r.doc.Pools = append(r.doc.Pools, results.Pool{Cells: p.cells, Latency: p.latencies})
		}
	}
	return nil
}
