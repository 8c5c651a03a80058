package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/results"
)

// The repetitions of a cell are added up in the document: the percentiles of all operations equal those of the log's merged histograms.
func TestRepetitionsAreAddedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "repetitions: 3", "variants: [naive, predecessor]", "duration: 8s")
		doc := r.mustRun()
		if len(doc.Pools) != 2 {
			t.Fatalf("%d pools, want one of each variant", len(doc.Pools))
		}
		f, err := os.Open(filepath.Join(r.config.Out.Path(), results.IntervalsFile))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		log, err := results.ReadLog(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range doc.Pools {
			variant, operations := doc.Cells[p.Cells[0]].Variant, int64(0)
			for _, i := range p.Cells {
				if doc.Cells[i].Variant != variant {
					t.Errorf("a pool has the cells %v, of several variants", p.Cells)
				}
				operations += doc.Cells[i].Operations
			}
			all := metrics.NewHistogram()
			for tag, h := range log {
				if strings.HasPrefix(tag, variant+"-") && strings.HasSuffix(tag, "/acquire.response") {
					all.Merge(h)
				}
			}
			got := p.Latency["acquire.response"]
			if len(p.Cells) != 3 || got.Count != operations || got.P99 == nil || *got.P99 != outcome.Millis(all.Quantile(0.99)) || got.Max != outcome.Millis(all.Max()) {
				t.Errorf("%s: pool %+v of %v, want the p99 %v and the %d operations of all", variant, got, p.Cells, all.Quantile(0.99), operations)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		if doc := newRig(t, latency).mustRun(); doc.Pools != nil {
			t.Errorf("pools %+v of a run without repetitions", doc.Pools)
		}
	})
}

// If one repetition was cut short, the others form a separate pool, which comparisons and gates use.
func TestRepetitionsBesideOneThatWasCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, latency, "repetitions: 3", "duration: 8s")
		r.on = func(u load.Update) {
			if u.Cell == 3 && u.Phase == outcome.PhaseSteady && !load.IsClosed(r.stop) {
				r.interrupt()
			}
		}
		doc, err := r.run()
		if !Interrupted(err) || len(doc.Cells) != 3 || !doc.Cells[2].Partial || len(doc.Pools) != 2 {
			t.Fatalf("error %v, %d cells, pools %+v; want a third cell that was cut short, and a pool of all and one of the others", err, len(doc.Cells), doc.Pools)
		}
		whole, operations := doc.Pooled(), doc.Cells[0].Operations+doc.Cells[1].Operations
		if len(whole) != 1 || whole[0].Latency["acquire.response"].Count != operations || whole[0].Latency["acquire.response"].P50 == 0 {
			t.Errorf("whole repetitions %+v, want the times of their %d operations", whole, operations)
		}
	})
}
