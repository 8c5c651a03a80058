package metrics

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"
)

// rawHeader is the first line of a raw log; times are nanoseconds since the Origin.
const rawHeader = "op,outcome,session,object,token,value,due_ns,start_ns,end_ns"

// RawLog writes every sample as one line of CSV, in the order of recording. It may be called from many goroutines; a slow
// writer holds them up, so it is for looking into a run and not for measuring one.
type RawLog struct {
	mu   sync.Mutex
	w    *bufio.Writer
	line []byte
	err  error
}

// NewRawLog writes the header to w. Flush when the run is over.
func NewRawLog(w io.Writer) *RawLog {
	l := &RawLog{w: bufio.NewWriterSize(w, 1<<16)}
	_, l.err = l.w.WriteString(rawHeader + "\n")
	return l
}

// Record appends a line. The first error of the writer ends the log and is returned by Flush.
func (l *RawLog) Record(s Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	b := append(l.line[:0], s.Op.String()...)
	b = append(append(b, ','), s.Outcome.String()...)
	for _, v := range [...]int64{int64(s.Session), int64(s.Object), s.Token, s.Value, int64(s.Due), int64(s.Start), int64(s.End)} {
		b = strconv.AppendInt(append(b, ','), v, 10)
	}
	l.line = append(b, '\n')
	_, l.err = l.w.Write(l.line)
}

// Flush writes out what is buffered and returns the first error since the log began.
func (l *RawLog) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.w.Flush(); l.err == nil {
		l.err = err
	}
	return l.err
}

// ReadRawLog yields the samples of a raw log, for judging a history again. After an error, which names the line, it ends.
func ReadRawLog(r io.Reader) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		lines := bufio.NewScanner(r)
		number := 0
		for lines.Scan() {
			number++
			if number == 1 {
				if lines.Text() != rawHeader {
					yield(Sample{}, fmt.Errorf("raw log: line 1 is %q, want %q", lines.Text(), rawHeader))
					return
				}
				continue
			}
			s, err := parseRaw(lines.Text())
			if err != nil {
				yield(Sample{}, fmt.Errorf("raw log: line %d: %w", number, err))
				return
			}
			if !yield(s, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Sample{}, fmt.Errorf("raw log: after line %d: %w", number, err))
		} else if number == 0 {
			yield(Sample{}, fmt.Errorf("raw log: %w", io.ErrUnexpectedEOF))
		}
	}
}

func parseRaw(line string) (Sample, error) {
	f := strings.Split(line, ",")
	if len(f) != 9 {
		return Sample{}, fmt.Errorf("%d fields, want 9", len(f))
	}
	s := Sample{Op: ops, Outcome: outcomes}
	for o := range ops {
		if o.String() == f[0] {
			s.Op = o
		}
	}
	for o := range outcomes {
		if o.String() == f[1] {
			s.Outcome = o
		}
	}
	if s.Op == ops || s.Outcome == outcomes {
		return Sample{}, fmt.Errorf("no operation %q with outcome %q", f[0], f[1])
	}
	var who [2]uint32
	for i := range who {
		v, err := strconv.ParseUint(f[2+i], 10, 32)
		if err != nil {
			return Sample{}, err
		}
		who[i] = uint32(v)
	}
	var v [5]int64
	for i := range v {
		var err error
		if v[i], err = strconv.ParseInt(f[4+i], 10, 64); err != nil {
			return Sample{}, err
		}
	}
	s.Session, s.Object, s.Token, s.Value = who[0], who[1], v[0], v[1]
	s.Due, s.Start, s.End = time.Duration(v[2]), time.Duration(v[3]), time.Duration(v[4])
	return s, nil
}
