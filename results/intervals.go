package results

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

// Interval is the histogram of one tag over a period of the run.
type Interval struct {
	From    time.Time
	Seconds float64
	// Overflow and Negative count the values outside the range of the histogram.
	Overflow, Negative int64
	payload            []byte
	decoder            *metrics.Decoder
}

// Slots calls do for each slot in use, lowest first, with its lower bound (inclusive), its upper bound (exclusive), and the number of values in it. It must be
// called before the next interval is read.
func (i Interval) Slots(do func(slot [2]time.Duration, n int64)) error {
	return i.decoder.Slots(i.payload, do)
}

// EachInterval reads intervals.hlog of a run's directory without adding up: it calls do for the intervals of the wanted tags, in file order, and stops
// at its first error. Unwanted intervals are not decoded.
func EachInterval(dir string, want func(tag string) bool, do func(tag string, i Interval) error) error {
	_, err := readFile(dir, IntervalsFile, func(r io.Reader) (struct{}, error) {
		var none struct{}
		var overflow, negative int64 // of the next interval
		lines, decoder := bufio.NewReaderSize(r, 1<<16), &metrics.Decoder{}
		for n := 1; ; n++ {
			line, err := lines.ReadString('\n')
			if err == io.EOF {
				return none, nil
			}
			if err != nil {
				return none, err
			}
			if strings.HasPrefix(line, "#[Outside:") {
				if _, err := fmt.Sscanf(line, outsideFormat, &overflow, &negative); err != nil {
					return none, fmt.Errorf("histogram log, line %d: %w", n, err)
				}
			}
			rest, tagged := strings.CutPrefix(line, "Tag=")
			tag, rest, _ := strings.Cut(rest, ",")
			if !tagged {
				continue
			}
			outside := [2]int64{overflow, negative}
			if overflow, negative = 0, 0; !want(tag) {
				continue
			}
			i, err := parseInterval(strings.TrimRight(rest, "\n"))
			i.Overflow, i.Negative = outside[0], outside[1]
			if i.decoder = decoder; err == nil {
				err = do(tag, i)
			}
			if err != nil {
				return none, fmt.Errorf("histogram log, line %d: %w", n, err)
			}
		}
	})
	return err
}

// Histogram returns the histogram, which belongs to the caller. It must be called before the next interval is read.
func (i Interval) Histogram() (*metrics.Histogram, error) {
	h, err := metrics.DecodeHistogram(i.payload)
	if err == nil {
		h.AddOutside(i.Overflow, i.Negative)
	}
	return h, err
}

func parseInterval(fields string) (i Interval, err error) {
	f := strings.Split(fields, ",")
	if len(f) != 4 {
		return i, fmt.Errorf("%d fields (expected start, length, maximum and payload)", len(f))
	}
	start, err := strconv.ParseFloat(f[0], 64)
	if err != nil {
		return i, err
	}
	if i.Seconds, err = strconv.ParseFloat(f[1], 64); err != nil {
		return i, err
	}
	i.From = time.UnixMilli(int64(start*1e3 + 0.5)).UTC()
	i.payload = []byte(f[3])
	return i, nil
}
