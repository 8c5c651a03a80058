package znode

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"math"
	"strings"

	"github.com/zkbench/zkbench/recipes"
)

// Prefix returns the name of a new child in a layout, without its number.
func Prefix(l recipes.Layout, guid string) string {
	if l.Dashed {
		guid = Dashed(guid)
	}
	return l.Before + guid + l.After + l.Marker
}

// Marking returns a layout with another marker.
func Marking(l recipes.Layout, marker string) recipes.Layout {
	l.Marker = marker
	return l
}

// Dashed writes a guid as a UUID.
func Dashed(guid string) string {
	return guid[:8] + "-" + guid[8:12] + "-" + guid[12:16] + "-" + guid[16:20] + "-" + guid[20:]
}

const GuidBytes = 16

// NewGUID names one attempt to create a znode: 128 random bits in hexadecimal. It is never the session's id or the host's name, because two users of
// one session would then adopt each other's znode.
func NewGUID() string {
	var b [GuidBytes]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Digits of the number that a server appends; a negative one, after the counter has wrapped, is preceded by a sign.
const Digits = 10

// LockMarkers precede the number in the locks of the known libraries.
var LockMarkers = []string{"lock-", "__lock__"}

// Parse extracts the number from a child's name. The marker must directly precede it, sign included: `lock-0000000001` is 1, which a regular
// expression on the tail alone would read as -1. A server writes its counter ten characters wide, so after the wrap a number has a sign and nine
// digits, or a sign and ten if nine do not suffice: `lock--000000001`, `lock--2147483648`. ok is false for a child that is not part of the queue.
func Parse(name string, markers []string) (seq int32, ok bool) {
	cut := len(name) - Digits
	if cut < 0 {
		return 0, false
	}
	head, tail := name[:cut], name[cut:]
	sign := int64(1)
	if h, signed := strings.CutSuffix(head, "-"); signed && marked(h, markers) {
		head, sign = h, -1
	} else if tail[0] == '-' {
		tail, sign = tail[1:], -1
	}
	if !marked(head, markers) {
		return 0, false
	}
	n := int64(0)
	for i := range len(tail) {
		c := tail[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return counter(sign * n)
}

func marked(head string, markers []string) bool {
	for _, m := range markers {
		if strings.HasSuffix(head, m) {
			return true
		}
	}
	return false
}

// counter converts n to the server's 32-bit counter, if it fits.
func counter(n int64) (seq int32, ok bool) {
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, false
	}
	return int32(n), true
}

// Before reports whether a precedes b in the order of sequence numbers: serial-number arithmetic, as in RFC 1982, so that the order survives the wrap of
// the server's 32-bit counter as long as fewer than 2^31 numbers are alive between two children.
func Before(a, b int32) bool { return a-b < 0 }

// ErrNotListed: the own znode is not among the children. It never means that the lock is ours.
var ErrNotListed = errors.New("own znode is not listed")

// Position decides, without any waiting: ahead is the nearest child before self, or "" if self is the first. Children that are not part of the queue
// are passed to foreign and otherwise ignored. The error is ErrNotListed if self is missing.
func Position(children []string, self string, markers []string, foreign func(string)) (ahead string, err error) {
	own, ok := Parse(self, markers)
	listed := false
	var nearest int32
	for _, c := range children {
		if c == self {
			listed = true
			continue
		}
		seq, isOurs := Parse(c, markers)
		if !isOurs {
			foreign(c)
			continue
		}
		if Before(seq, own) && (ahead == "" || Before(nearest, seq)) {
			ahead, nearest = c, seq
		}
	}
	if !listed || !ok {
		return "", ErrNotListed
	}
	return ahead, nil
}

// Base returns the last part of a path.
func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Parent returns the path without its last element, "/" at the top.
func Parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}
