package page

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/metrics"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/results"
)

// Source is a document and what plots need from the files next to it.
type Source struct {
	results.Document
	Traffic *report.Traffic             // instead of the Document
	seconds map[string][]results.Second // by cell; "" holds what belongs to no cell
	heat    map[string][]column         // by cell, of the response that times the cell
	whole   map[string]*metrics.Histogram
	details map[string]results.Details // by cell
}

// column counts the operations that ended in one interval of a cell, by response time.
type column struct {
	from, to time.Time
	counts   map[int]int64 // by bin, see bin
	count    int64
}

// Response times are binned logarithmically from one microsecond up.
const binsPerDecade = 60

func bin(d time.Duration) int {
	return int(math.Floor(math.Log10(max(float64(d)/float64(time.Microsecond), 1)) * binsPerDecade))
}

// edge returns the lower edge of a bin in milliseconds.
func edge(bin int) float64 { return math.Pow(10, float64(bin)/binsPerDecade) / 1e3 }

// Beside reads the files next to a document. A run without them, such as a document that was sent alone, has fewer plots.
func Beside(d results.Document) (Source, error) {
	s := Source{Document: d, seconds: map[string][]results.Second{}, heat: map[string][]column{}, whole: map[string]*metrics.Histogram{}}
	if d.Run == nil {
		return s, nil
	}
	seconds, err := results.ReadSeconds(d.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	for _, second := range seconds {
		s.seconds[second.Cell] = append(s.seconds[second.Cell], second)
	}
	if s.details, err = results.ReadDetails(d.Dir); err != nil {
		return s, err
	}
	timed := map[string]bool{} // tags of heat maps
	wanted := map[string]bool{}
	for _, c := range d.Run.Cells {
		if op := timedOp(c); op != "" {
			timed[c.Name+"/"+op+".response"] = true
			for _, clock := range []string{"response", "service", "lag"} {
				wanted[c.Name+"/"+op+"."+clock] = true
			}
		}
	}
	err = results.EachInterval(d.Dir, func(tag string) bool { return wanted[strings.TrimSuffix(tag, ".unserved")] }, func(tag string, i results.Interval) error {
		served := !strings.HasSuffix(tag, ".unserved")
		tag = strings.TrimSuffix(tag, ".unserved")
		if s.whole[tag] == nil {
			s.whole[tag] = metrics.NewHistogram()
		}
		c := column{from: i.From, to: i.From.Add(time.Duration(i.Seconds * float64(time.Second))), counts: map[int]int64{}}
		if err := i.Slots(func(slot [2]time.Duration, n int64) {
			s.whole[tag].AddSlot(slot, n)
			if served && timed[tag] {
				c.counts[bin(slot[0])] += n
				c.count += n
			}
		}); err != nil {
			return err
		}
		if served && timed[tag] {
			cell, _, _ := strings.Cut(tag, "/")
			s.heat[cell] = append(s.heat[cell], c)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	return s, nil
}

// timedOp returns the operation whose response time stands for the speed of a cell; "" if there are several or none.
func timedOp(c results.Cell) string {
	op := ""
	for _, m := range c.Measured {
		if _, has := c.Latency[m.Op+".response"]; m.Timed && has {
			if op != "" && m.Unit != "grants" {
				return op
			}
			op = cmp.Or(op, m.Op)
		}
	}
	return op
}

// cells returns the cells of a run with their repetitions pooled, ordered as in the tables.
func cells(run *results.Run) []results.Cell {
	all := run.Pooled()
	slices.SortStableFunc(all, func(a, b results.Cell) int {
		return cmp.Or(cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Variant, b.Variant), slices.CompareFunc(a.Conditions()[1:], b.Conditions()[1:], byValue),
			cmp.Compare(a.Sessions, b.Sessions))
	})
	return all
}

// byValue orders conditions: numbers numerically.
func byValue(a, b results.Condition) int {
	x, errX := strconv.ParseFloat(a.Value, 64)
	y, errY := strconv.ParseFloat(b.Value, 64)
	if a.Name == b.Name && errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
}

// repetitions returns the cells of a run that make up a pooled cell.
func repetitions(run *results.Run, pooled results.Cell) (all []results.Cell) {
	for _, c := range run.Cells {
		if !c.Partial && pooled.Same(c) {
			all = append(all, c)
		}
	}
	return all
}

// typical returns the repetition of median throughput, which plots over time show.
func typical(run *results.Run, pooled results.Cell) results.Cell {
	all := repetitions(run, pooled)
	if len(all) == 0 {
		return pooled
	}
	slices.SortStableFunc(all, func(a, b results.Cell) int { return cmp.Compare(a.Throughput, b.Throughput) })
	return all[(len(all)-1)/2]
}
