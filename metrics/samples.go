package metrics

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// samplesMark is the first line of a file of samples, inside the compression.
const samplesMark = "zkbench samples 1\n"

// ErrSamples means that the input is not a complete file of samples.
var ErrSamples = errors.New("incomplete file of samples")

// WriteSamples writes samples for ReadSamples: differences as variable-length integers, compressed, about 12 bytes each. Before each sample is written, keep
// is called with it and with the number of bytes written so far, the last of which are not compressed yet; if keep returns false, the sample is left out.
func WriteSamples(w io.Writer, samples iter.Seq[Sample], keep func(s *Sample, written int64) bool) (n int, err error) {
	counted := &counting{w: w}
	zip, err := gzip.NewWriterLevel(counted, gzip.BestSpeed)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(zip, 1<<16)
	out.WriteString(samplesMark)
	var last Sample
	var line []byte
	for s := range samples {
		if !keep(&s, counted.n+int64(out.Buffered())) {
			continue
		}
		line = append(line[:0], byte(s.Op)+1, byte(s.Outcome))
		line = binary.AppendUvarint(line, uint64(s.Session))
		line = binary.AppendUvarint(line, uint64(s.Object))
		for _, d := range []int64{s.Token - last.Token, s.Value - last.Value, s.Zxid - last.Zxid, int64(s.End - last.End), int64(s.End - s.Start), int64(s.Start - s.Due)} {
			line = binary.AppendVarint(line, d)
		}
		if _, err := out.Write(line); err != nil {
			return n, err
		}
		last = s
		n++
	}
	out.Write(binary.AppendUvarint([]byte{0}, uint64(n))) // the writer keeps an error
	if err := out.Flush(); err != nil {
		return n, err
	}
	return n, zip.Close()
}

// counting counts what is written.
type counting struct {
	w io.Writer
	n int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// ReadSamples calls do with the samples that WriteSamples has written, in order. It returns ErrSamples if the file is of another kind or incomplete.
func ReadSamples(r io.Reader, do func(Sample)) error {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSamples, err)
	}
	in := bufio.NewReaderSize(zip, 1<<16)
	mark := make([]byte, len(samplesMark))
	if _, err := io.ReadFull(in, mark); err != nil || string(mark) != samplesMark {
		return fmt.Errorf("%w: it begins with %q", ErrSamples, mark)
	}
	d := decoding{in: in}
	var s Sample
	for n := uint64(0); ; n++ {
		op := d.byte()
		if op == 0 && d.err == nil {
			if whole := d.unsigned(); d.err != nil || whole != n {
				return fmt.Errorf("%w: %d of %d samples: %v", ErrSamples, n, whole, d.err)
			}
			if _, err := in.ReadByte(); err != io.EOF { // the checksum has been verified
				return fmt.Errorf("%w: something follows its end: %v", ErrSamples, err)
			}
			return nil
		}
		s.Op, s.Outcome = Op(op-1), Outcome(d.byte())
		s.Session, s.Object = uint32(d.unsigned()), uint32(d.unsigned())
		s.Token += d.signed()
		s.Value += d.signed()
		s.Zxid += d.signed()
		s.End += time.Duration(d.signed())
		s.Start = s.End - time.Duration(d.signed())
		s.Due = s.Start - time.Duration(d.signed())
		if d.err == nil && (s.Op >= ops || s.Outcome >= outcomes) {
			d.err = fmt.Errorf("operation %d with outcome %d", s.Op, s.Outcome)
		}
		if d.err != nil {
			return fmt.Errorf("%w: sample %d: %w", ErrSamples, n, d.err)
		}
		do(s)
	}
}

// decoding reads values and keeps the first error.
type decoding struct {
	in  *bufio.Reader
	err error
}

func (d *decoding) byte() (b byte) {
	if d.err == nil {
		b, d.err = d.in.ReadByte()
	}
	return b
}

func (d *decoding) unsigned() (v uint64) {
	if d.err == nil {
		v, d.err = binary.ReadUvarint(d.in)
	}
	return v
}

func (d *decoding) signed() (v int64) {
	if d.err == nil {
		v, d.err = binary.ReadVarint(d.in)
	}
	return v
}
