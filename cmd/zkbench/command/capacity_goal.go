package command

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gates"
)

// curveOf splits a goal with several limits, such as p99<10ms,25ms,50ms. The goal has the longest limit, because its search passes the critical loads of
// the others; the curve has the others.
func curveOf(text string) (goal string, curve []string, err error) {
	name, list, some := strings.Cut(text, "<")
	limits := strings.Split(list, ",")
	if !some || len(limits) == 1 {
		return text, nil, nil
	}
	var lengths []time.Duration
	for _, l := range limits {
		d, wrong := time.ParseDuration(strings.TrimSpace(l))
		if lengths = append(lengths, d); wrong != nil {
			return text, nil, fmt.Errorf("limit %q: must be a duration such as 50ms", l)
		}
	}
	slices.Sort(lengths)
	for _, d := range slices.Compact(lengths) {
		curve = append(curve, name+"<"+shortly(d))
	}
	last := len(curve) - 1
	return curve[last], curve[:last], nil
}

// shortly formats a duration as people write it: 1m30s, and 2m instead of 2m0s.
func shortly(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// goalOf parses a goal, in the syntax of gates; p99<50ms is short for the response of the operation that the rate offers.
func goalOf(text string, cell results.Cell) (capacity.Goal, load.Limit, error) {
	goal := capacity.Goal{Name: strings.ReplaceAll(text, " ", "")}
	if name, limit, short := strings.Cut(goal.Name, "<"); short && slices.Contains([]string{"p50", "p90", "p99", "p99.9"}, name) {
		within, err := time.ParseDuration(limit)
		if err != nil || within <= 0 {
			return goal, load.Limit{}, fmt.Errorf("limit %q: must be a duration such as 50ms", limit)
		}
		q, _ := strconv.ParseFloat(name[1:], 64)
		goal.Share = (100 - q) / 100
		return goal, load.Limit{Response: within}, nil
	}
	if goal.Name == "expired==0" {
		return goal, load.Limit{Expired: true}, nil
	}
	if g, err := gates.Parse(text); err == nil && g.Metric.String() == "errors" && g.Compare == "<" && g.Limit < 1 && g.Check([]results.Cell{cell}) == nil {
		goal.Share = g.Limit
		return goal, load.Limit{}, nil
	}
	return goal, load.Limit{}, errors.New("expected p50, p90, p99 or p99.9 of the response below a time (p99<50ms), errors below a share (errors<0.1%), or expired==0")
}
