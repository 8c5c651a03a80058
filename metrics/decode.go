package metrics

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// Decoder reads payloads of Encode one after the other. It reuses its buffers, whose allocation would take most of DecodeHistogram's time for short
// intervals. It is not safe for concurrent use; the zero value is ready to use.
type Decoder struct {
	text, plain []byte
	inflate     io.ReadCloser
}

// Slots calls do with the slots in use of a payload, as Histogram.Slots yields them. An error means that the payload is not one of Encode's.
func (d *Decoder) Slots(payload []byte, do func(slot [2]time.Duration, n int64)) error {
	return d.slots(payload, func(i int, n int64) {
		do([2]time.Duration{time.Duration(slotValue(i)), time.Duration(slotValue(i + 1))}, n)
	})
}

// slots is Slots with the indices of the slots.
func (d *Decoder) slots(payload []byte, do func(i int, n int64)) error {
	counts, err := d.counts(payload)
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	for i := 0; len(counts) > 0; {
		n, used := binary.Varint(counts)
		if used <= 0 || n < -slots || i >= slots {
			return fmt.Errorf("decode histogram: no count in slot %d", i)
		}
		counts = counts[used:]
		if n < 0 { // a run of this many zeros
			i -= int(n)
			continue
		}
		if n > 0 {
			do(i, n)
		}
		i++
	}
	return nil
}

// counts returns what follows the 40-byte header.
func (d *Decoder) counts(payload []byte) (counts []byte, err error) {
	if d.text, err = base64.StdEncoding.AppendDecode(d.text[:0], payload); err != nil {
		return nil, err
	}
	if len(d.text) < 8 || binary.BigEndian.Uint32(d.text) != compressedMark {
		return nil, fmt.Errorf("no mark of a compressed histogram")
	}
	body := bytes.NewReader(d.text[8:])
	if d.inflate == nil {
		d.inflate, err = zlib.NewReader(body)
	} else {
		err = d.inflate.(zlib.Resetter).Reset(body, nil)
	}
	if err != nil {
		return nil, err
	}
	plain := bytes.NewBuffer(d.plain[:0])
	if _, err := plain.ReadFrom(d.inflate); err != nil {
		return nil, err
	}
	d.plain = plain.Bytes()
	p := d.plain
	if len(p) < 40 || binary.BigEndian.Uint32(p) != encodedMark || int(binary.BigEndian.Uint32(p[4:])) != len(p)-40 {
		return nil, fmt.Errorf("no head of a histogram")
	}
	if got := [3]uint64{uint64(binary.BigEndian.Uint32(p[12:])), binary.BigEndian.Uint64(p[16:]), binary.BigEndian.Uint64(p[24:])}; got != [3]uint64{digits, uint64(LowestValue), uint64(HighestValue)} {
		return nil, fmt.Errorf("digits and range %d, want %d, %d and %d", got, digits, LowestValue, HighestValue)
	}
	return p[40:], nil
}
