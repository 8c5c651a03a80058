package wire

import (
	"bytes"
	"slices"

	"github.com/zkbench/zkbench/internal/jute"
)

// listed caches the getChildren replies that one reader of sockets has seen most recently. Where sessions queue, thousands of them list the same
// znode: all waiters of a naive lock after every release, which yields the same bytes a thousand times, and those of a predecessor lock one after the
// other, which yields nearly the same bytes each time. So names are reused from the previous list: a reply then costs a comparison while the bytes
// are in the CPU's cache, and memory for its slice instead of memory for all of its names.
type listed struct {
	recent [recentLists]*list
	turn   int
}

const (
	recentLists = 8
	shortList   = 1 << 10 // bytes: a shorter list is cheaper to copy than to look up
	longList    = 1 << 20 // bytes: a longer one is not worth caching
)

// list is the latest reply for a path. It is kept from the second one on: most paths that many sessions list in turn, such as those of a thousand
// locks, never recur while they are cached.
type list struct {
	path string
	wire []byte   // as in the reply; empty until the second one
	at   []int32  // where each name starts in wire, its length included; and the end
	own  []string // the names, in memory that is never written to again
	all  []string // a copy of own that never changes, for callers to copy; nil until the same list is read again
}

// decode reads the names of a reply: into own, which belongs to the caller, or into shared, which others use too and the caller must copy. It is done
// here because the bytes are in the CPU's cache.
func (c *listed) decode(path string, wire []byte) (own, shared []string, err error) {
	if len(wire) < shortList || len(wire) > longList {
		own, err = jute.Strings(string(wire))
		return own, nil, err
	}
	l := c.find(path)
	if l == nil {
		c.recent[c.turn] = &list{path: path}
		c.turn = (c.turn + 1) % recentLists
		own, err = jute.Strings(string(wire))
		return own, nil, err
	}
	if bytes.Equal(l.wire, wire) {
		if l.all == nil {
			l.all = slices.Clone(l.own)
		}
		return nil, l.all, nil
	}
	if l.edit(wire) {
		return slices.Clone(l.own), nil, nil
	}
	if own, err = jute.Strings(string(wire)); err == nil {
		l.replace(wire, own)
	}
	return own, nil, err
}

func (c *listed) find(path string) *list {
	for _, l := range &c.recent {
		if l != nil && l.path == path {
			return l
		}
	}
	return nil
}

// replace caches a reply and its names.
func (l *list) replace(wire []byte, names []string) {
	l.wire, l.own, l.all = append(l.wire[:0], wire...), append(l.own[:0], names...), nil
	l.at = l.at[:0]
	at := int32(4)
	for _, name := range names {
		l.at = append(l.at, at)
		at += int32(4 + len(name))
	}
	l.at = append(l.at, at)
}

// edit updates the list to a reply that shares most of its names, at its start and its end. It returns false, and leaves the list unchanged, if that
// is not so, or if the bytes in between are not names.
func (l *list) edit(wire []byte) bool {
	if len(l.own) == 0 {
		return false
	}
	grown := len(wire) - len(l.wire)
	same := 4 + commonPrefix(l.wire[4:], wire[4:])
	from, exact := slices.BinarySearch(l.at, int32(same)) // the names before from are equal
	if !exact {
		from--
	}
	begin := int(l.at[from])
	least := min(len(l.wire), len(wire)) - begin // the end must not overlap the start
	tail := commonSuffix(l.wire[len(l.wire)-least:], wire[len(wire)-least:])
	to, _ := slices.BinarySearch(l.at, int32(len(l.wire)-tail)) // the names from to on are equal
	end := int(l.at[to]) + grown
	if end-begin > len(wire)/2 {
		return false
	}
	fresh, err := records(wire[begin:end])
	if err != nil || jute.Int32(wire) != int32(len(l.own)-(to-from)+len(fresh)) {
		return false
	}
	l.own, l.all = slices.Replace(l.own, from, to, fresh...), nil
	l.wire = append(l.wire[:0], wire...)
	ats := make([]int32, len(fresh))
	at := int32(begin)
	for i, name := range fresh {
		ats[i] = at
		at += int32(4 + len(name))
	}
	l.at = slices.Replace(l.at, from, to, ats...)
	if grown != 0 {
		for i := from + len(fresh); i < len(l.at); i++ {
			l.at[i] += int32(grown)
		}
	}
	return true
}

// records decodes names that are not preceded by their number. Each gets its own memory, so that it keeps no other name alive.
func records(wire []byte) (all []string, err error) {
	d := jute.Decoder{B: wire}
	for len(d.B) > 0 && !d.Bad {
		n := d.Int32()
		if n < 0 {
			return nil, jute.ErrProtocol
		}
		all = append(all, string(d.Take(int(n))))
	}
	return all, d.Err()
}

// span is how many bytes are compared at a time: the runtime's comparison is much faster than a loop.
const span = 256

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i < n {
		j := min(i+span, n)
		if !bytes.Equal(a[i:j], b[i:j]) {
			break
		}
		i = j
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func commonSuffix(a, b []byte) int {
	n := min(len(a), len(b))
	a, b = a[len(a)-n:], b[len(b)-n:]
	i := n
	for i > 0 {
		j := max(i-span, 0)
		if !bytes.Equal(a[j:i], b[j:i]) {
			break
		}
		i = j
	}
	for i > 0 && a[i-1] == b[i-1] {
		i--
	}
	return n - i
}
