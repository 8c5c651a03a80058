package metrics

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// ticks is how many percentiles WritePercentiles prints for each halving of the distance to 100 %, as HistogramLogProcessor does.
const ticks = 5

// WritePercentiles writes the percentile distribution in milliseconds, identical to the last digit with outputPercentileDistribution of the reference
// implementation of HdrHistogram (org.HdrHistogram.AbstractHistogram and PercentileIterator): the format .hgrm, which its plotter reads. Values out of range
// appear in no line.
func (h *Histogram) WritePercentiles(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")
	const unit = float64(time.Millisecond)
	all := float64(h.Count())
	below, level, sum := int64(0), 0.0, 0.0
	last := int64(0) // the upper edge of the last slot in use
	for i, n := range h.used() {
		below += n
		last = int64(edge(i))
		sum += middle(i) * float64(n)
		for share := 100 * float64(below) / all; share >= level && level < 100; level = next(level) {
			fmt.Fprintf(out, "%12s %s %10d %14s\n", decimal(float64(last)/unit, 3), decimal(level/100, 12), below, decimal(1/(1-level/100), 2))
			if below == h.Count() {
				break // the last slot has one line at its own level, and the line of 100 %
			}
		}
	}
	if below > 0 {
		fmt.Fprintf(out, "%12s %s %10d\n", decimal(float64(last)/unit, 3), decimal(1, 12), below)
	}
	mean, squares := 0.0, 0.0
	if below > 0 {
		mean = sum / all
	}
	for i, n := range h.used() {
		squares += (middle(i) - mean) * (middle(i) - mean) * float64(n)
	}
	deviation := 0.0
	if below > 0 {
		deviation = math.Sqrt(squares / all)
	}
	fmt.Fprintf(out, "#[Mean    = %12s, StdDeviation   = %12s]\n#[Max     = %12s, Total count    = %12d]\n#[Buckets = %12d, SubBuckets     = %12d]\n",
		decimal(mean/unit, 3), decimal(deviation/unit, 3), decimal(float64(last)/unit, 3), below, slots>>halfBits-1, 2<<halfBits)
	return out.Flush()
}

// next returns the percentile after level: the steps are halved whenever half of the distance to 100 % is left.
func next(level float64) float64 {
	halvings := math.Floor(math.Log(100/(100-level))/math.Log(2)) + 1
	return level + 100/(ticks*math.Pow(2, halvings))
}

// decimal formats x with this many digits after the point, as Java's Formatter rounds: half up, from the shortest decimal that is x. Go rounds a half
// of the exact binary value to even.
func decimal(x float64, digits int) string {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	point := strings.IndexByte(text, '.')
	if point < 0 || len(text)-point-1 <= digits {
		return strconv.FormatFloat(x, 'f', digits, 64)
	}
	kept, up := []byte(text[:point+1+digits]), text[point+1+digits] >= '5'
	for i := len(kept) - 1; up && i >= 0; i-- {
		switch kept[i] {
		case '.':
		case '9':
			kept[i] = '0'
		default:
			kept[i]++
			up = false
		}
	}
	if up {
		return "1" + string(kept)
	}
	return string(kept)
}
