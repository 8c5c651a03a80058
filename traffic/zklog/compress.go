package zklog

import (
	"compress/gzip"
	"fmt"
	"io"
	"path/filepath"

	"github.com/klauspost/compress/snappy"

	"github.com/zkbench/zkbench/internal/jute"
)

// plain returns the content of a snapshot, whose compression follows from the end of its name, as for ZooKeeper (SnapStream.getStreamMode).
func plain(r io.Reader, name string) (io.Reader, error) {
	switch filepath.Ext(name) {
	case ".gz":
		return gzip.NewReader(r)
	case ".snappy":
		return newBlocks(r)
	}
	return r, nil
}

// The frames of snappy-java's SnappyOutputStream, which are not those of Snappy's own framing: a header, and then blocks, each with its length.
const (
	blocksMagic  = "\x82SNAPPY\x00"
	blocksHeader = len(blocksMagic) + 4 + 4 // the version, and the oldest one that can read it
	maxBlock     = 16 << 20                 // bytes of a block, before and after; snappy-java writes 32 KiB
)

type blocks struct {
	r               io.Reader
	rest            []byte // of the block
	packed, content []byte
}

func newBlocks(r io.Reader) (*blocks, error) {
	var head [blocksHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, whyShort(err, ErrCut)
	}
	if string(head[:len(blocksMagic)]) != blocksMagic {
		return nil, fmt.Errorf("%w: not compressed by snappy-java", ErrFormat)
	}
	return &blocks{r: r}, nil
}

// Read reads from the current block, or from the next one.
func (b *blocks) Read(p []byte) (int, error) {
	for len(b.rest) == 0 {
		var length [4]byte
		if _, err := io.ReadFull(b.r, length[:]); err != nil {
			return 0, err
		}
		n := int(jute.Int32(length[:]))
		if n <= 0 || n > maxBlock {
			return 0, fmt.Errorf("%w: a compressed block of %d bytes (expected 1 to %d)", ErrCorrupt, n, maxBlock)
		}
		b.packed = b.packed[:0]
		for len(b.packed) < n { // memory grows only with what is there
			have := len(b.packed)
			b.packed = extended(b.packed, min(n-have, window))
			if _, err := io.ReadFull(b.r, b.packed[have:]); err != nil {
				return 0, whyShort(err, io.ErrUnexpectedEOF)
			}
		}
		size, err := snappy.DecodedLen(b.packed)
		if err != nil || size > maxBlock {
			return 0, fmt.Errorf("%w: a block of %d bytes when decompressed (expected at most %d)", ErrCorrupt, size, maxBlock)
		}
		if b.content, err = snappy.Decode(b.content[:cap(b.content)], b.packed); err != nil {
			return 0, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		b.rest = b.content
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}
