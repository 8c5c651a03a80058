package compare

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/stats"
)

// trendSeed seeds the permutations: the same runs always give the same change points.
const trendSeed = 1

// Trend finds the change points of a series of runs, for each metric of each cell: see stats.Changes. The level is divided evenly among all series
// (Bonferroni). Differences between environments are listed with each change, because they may be its cause.
func Trend(runs []Run, o Options) (*results.Trend, error) {
	if len(runs) == 0 {
		return nil, errors.New("a trend needs runs")
	}
	doc := &results.Trend{Schema: results.TrendSchema, Made: time.Now().UTC(), Alpha: Alpha, MinEffect: o.MinEffect, Series: []results.Series{}}
	for _, r := range runs {
		doc.Runs = append(doc.Runs, results.TrendRun{Dir: r.Dir, Started: r.Started, Zkbench: r.Environment.Zkbench})
	}
	cells, order, err := alongRuns(runs, o.Ignore)
	if err != nil {
		return nil, err
	}
	var better []results.Direction // for each series
	for _, k := range order {
		of, err := addSeries(doc, cells[k], o)
		if err != nil {
			return nil, err
		}
		better = append(better, of...)
	}
	level := Alpha / float64(max(len(doc.Series), 1))
	for i := range doc.Series {
		doc.Series[i].Needed = stats.Least(level)
		changes(doc, &doc.Series[i], better[i], runs, level)
	}
	concludeTrend(doc)
	return doc, nil
}

// addSeries adds the metrics of a cell. The default metrics are those of the first run that has the cell.
func addSeries(doc *results.Trend, cells []*results.Cell, o Options) (better []results.Direction, err error) {
	there := present(cells)
	first := there[0]
	wanted, err := o.of(there)
	if err != nil {
		return nil, err
	}
	for _, m := range wanted {
		s := results.Series{Workload: first.Workload, Variant: first.Variant, Conditions: conditionsOf(first, o.Ignore), Metric: m.String(), Scale: scaleOf(m),
			Changes: []results.TrendChange{}}
		bounds := 0
		for _, c := range cells {
			s.Values = append(s.Values, nil)
			if c == nil {
				continue
			}
			if v := m.Of(c); v.Known {
				s.Values[len(s.Values)-1] = &v.X
				if v.AtLeast {
					bounds++
				}
			}
		}
		if bounds > 0 {
			doc.Notes = append(doc.Notes, fmt.Sprintf("%s of %s: %s only lower bounds, because work was not served.", s.Metric, s.Variant, phrase.Count(bounds, "value")))
		}
		doc.Series = append(doc.Series, s)
		better = append(better, m.Better())
	}
	return better, nil
}

// changes finds the change points of a series, using logarithms for metrics with a ratio.
func changes(doc *results.Trend, s *results.Series, better results.Direction, runs []Run, level float64) {
	var places []int
	var values []float64
	for i, x := range s.Values {
		switch {
		case x == nil:
		case s.Scale == results.ScaleDifference:
			places, values = append(places, i), append(values, *x)
		case *x > 0:
			places, values = append(places, i), append(values, math.Log(*x))
		}
	}
	if s.Used = len(values); s.Used < s.Needed {
		doc.Notes = append(doc.Notes, fmt.Sprintf("%s of %s: %s; a change needs at least %d.", s.Metric, s.Variant, phrase.Count(len(values), "value"), s.Needed))
		return
	}
	higher := better == results.HigherIsBetter
	found := stats.Changes(values, level, trendSeed)
	for i, c := range found {
		from, to := 0, len(values)
		if i > 0 {
			from = found[i-1].At
		}
		if i+1 < len(found) {
			to = found[i+1].At
		}
		before, after := stats.Median(values[from:c.At]), stats.Median(values[c.At:to])
		change := results.TrendChange{Before: places[c.At-1], After: places[c.At], From: before, To: after, Effect: after - before, P: c.P}
		limit := shareEffect
		if s.Scale == results.ScaleRatio {
			limit = math.Log(1 + doc.MinEffect)
		}
		switch {
		case math.Abs(change.Effect) < limit:
			change.Verdict = stats.Equivalent.String()
		case change.Effect > 0 == higher:
			change.Verdict = stats.Improvement.String()
		default:
			change.Verdict = stats.Regression.String()
		}
		if s.Scale == results.ScaleRatio {
			change.From, change.To, change.Effect = math.Exp(before), math.Exp(after), math.Exp(change.Effect)
		}
		change.Environment = differing(runs[change.Before:change.Before+1], runs[change.After:change.After+1])
		s.Changes = append(s.Changes, change)
	}
}

// concludeTrend sets the exit code: 3 if the last change of a series is a regression, 5 if a series is too short for any change.
func concludeTrend(doc *results.Trend) {
	var end ending
	short := 0
	for _, s := range doc.Series {
		if s.Used < s.Needed {
			short++
		}
		if n := len(s.Changes); n > 0 && s.Changes[n-1].Verdict == stats.Regression.String() {
			end.add(codeMissed, "regression of %s of %s from %s on", s.Metric, s.Variant, doc.Runs[s.Changes[n-1].After].Dir)
		}
	}
	if short > 0 {
		end.add(codeUnknown, "%d series too short for a change to be found", short)
	}
	if len(doc.Series) == 0 {
		end.add(codeUnknown, "no run measured a cell")
	}
	doc.Exit = end.exit()
}
