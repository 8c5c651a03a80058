package gates

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
)

// Gate is a limit for a metric, such as 'p99(acquire.response) < 50ms'.
type Gate struct {
	Text    string // as written
	Metric  results.Metric
	Compare string  // <, <=, ==, >= or >
	Limit   float64 // in the metric's unit
	// Closed says that the gate states that the loop is closed; without that, it may not limit a response of a closed loop.
	Closed bool
}

// closedLoop is the suffix of a gate that acknowledges what a response means in a closed loop.
const closedLoop = "in a closed loop"

// Parse parses METRIC COMPARISON LIMIT. Its error says what is expected; a limit that every value meets, or no value, is an error too.
func Parse(text string) (Gate, error) {
	g := Gate{Text: strings.TrimSpace(text)}
	rest, closed := strings.CutSuffix(g.Text, closedLoop)
	g.Closed = closed
	at := strings.IndexAny(rest, "<>=!")
	if at < 0 {
		return g, fmt.Errorf("gate %q: no comparison (expected a metric, one of <, <=, ==, >=, > and a limit, such as errors < 0.1%%)", text)
	}
	limit := strings.TrimLeft(rest[at:], "<>=!")
	g.Compare = rest[at : len(rest)-len(limit)]
	switch g.Compare {
	case "<", "<=", "==", ">=", ">":
	default:
		return g, fmt.Errorf("gate %q: unknown comparison %q (expected one of <, <=, ==, >=, >)", text, g.Compare)
	}
	var err error
	if g.Metric, err = results.ParseMetric(strings.TrimSpace(rest[:at])); err != nil {
		return g, fmt.Errorf("gate %q: %w", text, err)
	}
	if g.Limit, err = limitOf(g.Metric.Unit(), strings.TrimSpace(limit)); err != nil {
		return g, fmt.Errorf("gate %q: %w", text, err)
	}
	if err := g.decides(); err != nil {
		return g, fmt.Errorf("gate %q: %w", text, err)
	}
	return g, nil
}

// number matches a decimal number without a sign, and what follows it.
var number = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) *(.*)$`)

func limitOf(unit results.Unit, text string) (float64, error) {
	found := number.FindStringSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("limit %q: must be a number with its unit", text)
	}
	x, err := strconv.ParseFloat(found[1], 64)
	if err != nil || math.IsInf(x, 0) {
		return 0, fmt.Errorf("limit %q: must be a number with its unit", text)
	}
	suffix := found[2]
	switch unit {
	case results.Milliseconds, results.Microseconds:
		if suffix == "" {
			return 0, fmt.Errorf("limit %s: no unit, did you mean %sms?", text, text)
		}
		d, err := time.ParseDuration(found[1] + suffix)
		if err != nil {
			return 0, fmt.Errorf("limit %q: must be a duration such as 50ms or 1.5s", text)
		}
		if unit == results.Microseconds {
			return float64(d) / float64(time.Microsecond), nil
		}
		return float64(d) / float64(time.Millisecond), nil
	case results.Share:
		if suffix == "%" {
			x /= 100
		} else if suffix != "" {
			return 0, fmt.Errorf("limit %q: must be a share such as 0.1%% or 0.001", text)
		}
		if x > 1 {
			return 0, fmt.Errorf("limit %q: must be at most 100%% (such as 0.1%% or 0.001)", text)
		}
		return x, nil
	case results.PerSecond:
		per, known := map[string]float64{"": 1, "/s": 1, "/min": 60, "/h": 3600}[suffix]
		if !known {
			return 0, fmt.Errorf("limit %q: must be a rate such as 500/s", text)
		}
		return x / per, nil
	}
	if suffix != "" {
		return 0, fmt.Errorf("limit %q: must be a number without a unit", text)
	}
	return x, nil
}

// decides returns an error for a gate that cannot be missed, or cannot be met. No value is below 0, and no share above 1.
func (g Gate) decides() error {
	unit := g.Metric.Unit()
	switch {
	case g.Compare == ">=" && g.Limit == 0, g.Compare == "<=" && g.Limit == 1 && unit == results.Share:
		return errors.New("every value meets it (expected a limit that can be missed)")
	case g.Compare == "<" && g.Limit == 0, g.Compare == ">" && g.Limit == 1 && unit == results.Share:
		return errors.New("no value can meet it")
	case g.Compare == "==" && (unit != results.Plain && unit != results.Share):
		return errors.New("a time or a rate is never exactly its limit (use <= or >=)")
	}
	return nil
}

// meets reports whether a value meets the limit.
func (g Gate) meets(x float64) bool {
	switch g.Compare {
	case "<":
		return x < g.Limit
	case "<=":
		return x <= g.Limit
	case "==":
		return x == g.Limit
	case ">=":
		return x >= g.Limit
	}
	return x > g.Limit
}
