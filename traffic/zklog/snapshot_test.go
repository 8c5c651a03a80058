package zklog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"

	"github.com/zkbench/zkbench/internal/jute"
	"github.com/zkbench/zkbench/internal/tier"
)

// seen returns what a snapshot has, one line a session or znode.
func seen(b []byte, name string) (lines []string, err error) {
	err = ReadSnapshot(bytes.NewReader(b), name, Visitor{
		Session: func(id int64, timeout time.Duration) { lines = append(lines, fmt.Sprintf("%x %v", id, timeout)) },
		Znode: func(z *Znode) {
			lines = append(lines, fmt.Sprintf("%s %dB %x %d %x %d/%d/%d", z.Path, z.Data, z.Czxid, z.Ctime, z.Session(), z.Version, z.Cversion, z.Aversion))
		},
	})
	return lines, err
}

var tree = [][]byte{znode("", 0, 0, 0, 0), znode("/a", 5, 1, 1000, 0), znode("/a/e", 0, 2, 2000, 0x77), znode("/c", 1, 3, 3000, container), znode("/t", 1, 4, 4000, -1<<56+99)}

var wholeTree = []string{"77 4s", "/ 0B 0 0 0 1/2/3", "/a 5B 1 1000 0 1/2/3", "/a/e 0B 2 2000 77 1/2/3", "/c 1B 3 3000 0 1/2/3", "/t 1B 4 4000 0 1/2/3"}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// snapped compresses in blocks of n bytes, as snappy-java does.
func snapped(b []byte, n int) []byte {
	out := append([]byte(blocksMagic), 0, 0, 0, 1, 0, 0, 0, 1)
	for part := range slices.Chunk(b, n) {
		out = jute.AppendBuffer(out, snappy.Encode(nil, part))
	}
	return out
}

func TestSnapshotsOfAllVersions(t *testing.T) {
	sessions := map[int64]int32{0x77: 4000}
	longDigest := slices.Concat(make([]byte, 8), integer(2), make([]byte, 8))
	textDigest := slices.Concat(make([]byte, 8), integer(1), text("1234abcd"))
	zxid := make([]byte, 8)
	for _, c := range []struct {
		why, name string
		file      []byte
	}{
		{"3.4", "snapshot.5", snapshotOf(sessions, tree)},
		{"3.6", "snapshot.5", snapshotOf(sessions, tree, longDigest)},
		{"a digest that is text", "snapshot.5", snapshotOf(sessions, tree, textDigest)},
		{"3.9", "snapshot.5", snapshotOf(sessions, tree, longDigest, zxid)},
		{"3.9 without digest", "snapshot.5", snapshotOf(sessions, tree, zxid)},
		{"gzip", "snapshot.5.gz", zipped(snapshotOf(sessions, tree, longDigest))},
		{"Snappy", "snapshot.5.snappy", snapped(snapshotOf(sessions, tree, longDigest), 100)},
	} {
		lines, err := seen(c.file, c.name)
		if err != nil || !slices.Equal(lines, wholeTree) {
			t.Errorf("%s: read %q, %v, want %q", c.why, lines, err, wholeTree)
		}
	}
}

func TestWhatIsWrongWithASnapshot(t *testing.T) {
	whole := snapshotOf(map[int64]int32{0x77: 4000}, tree)
	head := whole[:fileHeader]
	flipped := func(i int) []byte {
		b := slices.Clone(whole)
		b[i] ^= 1
		return b
	}
	noACL := slices.Concat(head, integer(0), integer(0))
	for _, c := range []struct {
		why, name string
		file      []byte
		err       error
		lines     int
	}{
		{"nothing", "snapshot.5", nil, ErrCut, 0},
		{"another file", "snapshot.5", []byte("ZKLG and something more"), ErrFormat, 0},
		{"a later version", "snapshot.5", slices.Concat([]byte("ZKSN"), integer(3), make([]byte, 8)), ErrFormat, 0},
		{"no tree", "snapshot.5", whole[:fileHeader+4+12], ErrCut, 1},
		{"half a znode", "snapshot.5", slices.Concat(noACL, tree[0], tree[1][:30]), ErrCut, 1},
		{"no end", "snapshot.5", slices.Concat(noACL, tree[0], tree[1]), ErrCut, 2},
		{"no seal", "snapshot.5", whole[:len(whole)-13], ErrCut, 6},
		{"another seal", "snapshot.5", flipped(len(whole) - 6), ErrCorrupt, 6},
		{"changed data", "snapshot.5", flipped(len(whole) - 100), ErrCorrupt, 6},
		{"something unknown behind it", "snapshot.5", append(slices.Clone(whole), make([]byte, 50)...), ErrFormat, 6},
		{"a lot behind it", "snapshot.5", append(slices.Clone(whole), make([]byte, 2*window)...), ErrFormat, 6},
		{"-2 sessions", "snapshot.5", slices.Concat(head, integer(-2)), ErrCorrupt, 0},
		{"2 G sessions", "snapshot.5", slices.Concat(head, integer(1<<31-1)), ErrCut, 0},
		{"-2 ACLs", "snapshot.5", slices.Concat(head, integer(0), integer(-2)), ErrCorrupt, 0},
		{"an ACL of -2 entries", "snapshot.5", slices.Concat(head, integer(0), integer(1), make([]byte, 8), integer(-2)), ErrCorrupt, 0},
		{"an ACL of 2 G entries", "snapshot.5", slices.Concat(head, integer(0), integer(1), make([]byte, 8), integer(1<<31-1)), ErrCut, 0},
		{"a scheme of -2 bytes", "snapshot.5", slices.Concat(head, integer(0), integer(1), make([]byte, 8), integer(1), integer(31), integer(-2)), ErrCorrupt, 0},
		{"a path of 2 GB", "snapshot.5", slices.Concat(noACL, integer(1<<31-1)), ErrCorrupt, 0},
		{"a path of -1 bytes", "snapshot.5", slices.Concat(noACL, integer(-1)), ErrCorrupt, 0},
		{"a path that is none", "snapshot.5", slices.Concat(noACL, text("abc"), make([]byte, 100)), ErrCorrupt, 0},
		{"data of 2 GB", "snapshot.5", slices.Concat(noACL, text("/a"), integer(1<<31-1), make([]byte, 100)), ErrCut, 0},
		{"data of -2 bytes", "snapshot.5", slices.Concat(noACL, text("/a"), integer(-2), make([]byte, 100)), ErrCorrupt, 0},
		{"not gzip", "snapshot.5.gz", whole, gzip.ErrHeader, 0},
		{"half of gzip", "snapshot.5.gz", zipped(whole)[:60], ErrCut, 0},
		{"not Snappy", "snapshot.5.snappy", whole, ErrFormat, 0},
		{"half of Snappy", "snapshot.5.snappy", snapped(whole, 1<<15)[:60], ErrCut, 0},
		{"a block of 2 GB", "snapshot.5.snappy", append(snapped(nil, 1), integer(1<<31-1)...), ErrCorrupt, 0},
		{"a block of a negative length", "snapshot.5.snappy", append(snapped(nil, 1), integer(-1)...), ErrCorrupt, 0},
		{"a block that is 2 GB when decompressed", "snapshot.5.snappy", append(snapped(nil, 1), text("\xff\xff\xff\xff\x07")...), ErrCorrupt, 0},
		{"a block of something else", "snapshot.5.snappy", append(snapped(nil, 1), text("\x05\xff\xff")...), ErrCorrupt, 0},
	} {
		lines, err := seen(c.file, c.name)
		var p *Problem
		if !errors.As(err, &p) || !errors.Is(err, c.err) || p.File != c.name || c.lines > 0 && len(lines) != c.lines {
			t.Errorf("%s: %d lines, %v, want %d, %v", c.why, len(lines), err, c.lines, c.err)
		}
	}
}

// manyZnodes is a snapshot that is made while it is read, without memory of its own.
type manyZnodes struct {
	left   int
	one    []byte // the next znode, whose name is counted up
	buffer []byte // what has not been read of the last one
}

func (m *manyZnodes) Read(p []byte) (int, error) {
	if len(m.buffer) == 0 {
		if m.left == 0 {
			return 0, io.EOF
		}
		m.left--
		m.buffer = m.one
		name := m.one[4 : 4+len("/tree/0000000000")]
		for i := len(name) - 1; ; i-- {
			if name[i]++; name[i] <= '9' {
				break
			}
			name[i] = '0'
		}
	}
	n := copy(p, m.buffer)
	m.buffer = m.buffer[n:]
	return n, nil
}

// However large a snapshot is, reading it takes a window.
func TestALargeSnapshotTakesNoMemory(t *testing.T) {
	tier.Long(t, "a snapshot of 10 million znodes; relative: TestWhatIsWrongWithASnapshot, lengths of 2 GB")
	head := slices.Concat(jute.AppendInt64(jute.AppendInt32([]byte(snapshotMagic), fileVersion), -1), integer(0), integer(0))
	source := &manyZnodes{left: 10_000_000, one: znode("/tree/0000000000", 100, 1, 1, 0), buffer: head}
	n, last := 0, ""
	if total := allocated(func() {
		ReadSnapshot(source, "snapshot.1", Visitor{Znode: func(z *Znode) {
			if n++; n == 10_000_000 {
				last = string(z.Path)
			}
		}})
	}); total > 2*window {
		t.Errorf("%d bytes allocated", total)
	}
	if n != 10_000_000 || last != "/tree/0010000000" {
		t.Errorf("%d znodes, the last one %s", n, last)
	}
}

func FuzzSnapshot(f *testing.F) {
	whole := snapshotOf(map[int64]int32{0x77: 4000}, tree, slices.Concat(make([]byte, 8), integer(2), make([]byte, 8)))
	f.Add(whole, 0)
	f.Add(zipped(whole), 1)
	f.Add(snapped(whole, 50), 2)
	f.Fuzz(func(t *testing.T, b []byte, kind int) {
		name := "snapshot.5" + []string{"", ".gz", ".snappy"}[uint(kind)%3]
		if lines, err := seen(b, name); err != nil {
			if p := (*Problem)(nil); !errors.As(err, &p) || p.Offset < 0 {
				t.Errorf("%d lines, %v", len(lines), err)
			}
		} else if strings.HasSuffix(name, "5") && len(lines) > len(b)/12 {
			t.Errorf("%d sessions and znodes in %d bytes", len(lines), len(b))
		}
	})
}
