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

// Tag names a histogram in intervals.hlog: CELL/OPERATION.CLOCK.
func Tag(cell string, key metrics.Key) string { return cell + "/" + key.String() }

// logVersion is the first line of a log.
const logVersion = "#[Histogram log format version 1.3]\n"

// outsideFormat is the comment before an interval with values outside the range of the histogram.
const outsideFormat = "#[Outside: %d overflow, %d negative]\n"

// logWriter writes the HdrHistogram log format 1.3 with V2 compressed payloads. The writer of hdrhistogram-go truncates start
// times to seconds, which would make intervals overlap.
type logWriter struct {
	w      *bufio.Writer
	headed bool
}

func (l *logWriter) write(tag string, from, to time.Time, h *metrics.Histogram) error {
	if strings.ContainsAny(tag, ", \t\r\n") {
		return fmt.Errorf("tag %q: must not contain a comma or a space", tag)
	}
	outside := h.Overflow() != 0 || h.Negative() != 0
	if h.Count() == 0 && !outside {
		return nil
	}
	if !l.headed {
		l.headed = true
		fmt.Fprintf(l.w, logVersion+"#[StartTime: %s (seconds since epoch), %s]\n"+
			"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
			seconds(from), from.UTC().Format(time.RFC3339))
	}
	payload, err := h.Encode()
	if err != nil {
		return err
	}
	if outside { // the payload cannot hold these; readers that do not know the comment skip it
		fmt.Fprintf(l.w, outsideFormat, h.Overflow(), h.Negative())
	}
	_, err = fmt.Fprintf(l.w, "Tag=%s,%s,%s,%s,%s\n", tag, seconds(from),
		strconv.FormatFloat(to.Sub(from).Seconds(), 'f', 3, 64),
		strconv.FormatFloat(float64(h.Max())/float64(time.Millisecond), 'f', 6, 64), payload)
	return err
}

func seconds(t time.Time) string {
	return fmt.Sprintf("%d.%03d", t.Unix(), t.Nanosecond()/int(time.Millisecond))
}

// ReadLog adds up the intervals of intervals.hlog by tag without loss. An empty log is a run without any interval.
func ReadLog(r io.Reader) (map[string]*metrics.Histogram, error) {
	totals := map[string]*metrics.Histogram{}
	var overflow, negative int64 // of the next interval
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return totals, nil // the run ended while writing the last line
		}
		if err != nil {
			return nil, err
		}
		if n == 1 && line != logVersion {
			return nil, fmt.Errorf("histogram log: starts with %.60q (expected %q)", line, logVersion)
		}
		if strings.HasPrefix(line, "#[Outside:") {
			if _, err := fmt.Sscanf(line, outsideFormat, &overflow, &negative); err != nil {
				return nil, fmt.Errorf("histogram log, line %d: %w", n, err)
			}
		}
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "\"") {
			continue
		}
		tag, h, err := parseLine(strings.TrimRight(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("histogram log, line %d: %w", n, err)
		}
		if totals[tag] == nil {
			totals[tag] = metrics.NewHistogram()
		}
		totals[tag].Merge(h)
		totals[tag].AddOutside(overflow, negative)
		overflow, negative = 0, 0
	}
}

func parseLine(line string) (tag string, h *metrics.Histogram, err error) {
	f := strings.Split(line, ",")
	if rest, tagged := strings.CutPrefix(f[0], "Tag="); tagged {
		tag, f = rest, f[1:]
	}
	if len(f) != 4 {
		return "", nil, fmt.Errorf("%d fields (expected start, length, maximum and payload)", len(f))
	}
	h, err = metrics.DecodeHistogram([]byte(f[3]))
	return tag, h, err
}
