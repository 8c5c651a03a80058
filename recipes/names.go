package recipes

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"math"
	"strings"
)

// Layout is how the names of a queue's children are written: what stands before the guid, between guid and marker, the marker,
// and then the number that the server appends.
type Layout struct {
	name   string
	before string // before the guid: '_c_'
	after  string // after it: '-'
	marker string // before the number: 'lock-'; in a read/write lock that of a writer
	shared string // in a read/write lock the marker of a reader
	revoke string // in a read/write lock what is written into a znode to ask for its grant back
	dashed bool   // the guid is written as a UUID with dashes
}

// The layouts that exist, each named after the library that writes it. A queue is read in all of them, so that clients of
// different libraries may contend; but Curator and kazoo do not understand each other's, which the tests of interoperation show.
var (
	LayoutGoZookeeper = Layout{name: "go-zookeeper", before: "_c_", after: "-", marker: "lock-"}
	LayoutCurator     = Layout{name: "curator", before: "_c_", after: "-", marker: "lock-", dashed: true}
	LayoutKazoo       = Layout{name: "kazoo", marker: "__lock__"}
)

// Layouts lists them for messages and look-ups.
var Layouts = []Layout{LayoutGoZookeeper, LayoutCurator, LayoutKazoo}

// The layouts of read/write locks. In the articles' one, which is [host]-R-number, our guid stands for the host's name: two
// clients of one host could not tell their znodes apart after a lost reply.
var (
	LayoutReadWriteCurator = Layout{name: "curator", before: "_c_", after: "-", marker: "__WRIT__", shared: "__READ__",
		revoke: "__REVOKE__", dashed: true}
	LayoutReadWriteKazoo   = Layout{name: "kazoo", marker: "__lock__", shared: "__rlock__", revoke: "unlock"}
	LayoutReadWriteArticle = Layout{name: "article", marker: "-W-", shared: "-R-", revoke: "unlock"}
)

// ReadWriteLayouts lists the layouts of read/write locks, the default first.
var ReadWriteLayouts = []Layout{LayoutReadWriteCurator, LayoutReadWriteKazoo, LayoutReadWriteArticle}

// The layouts of semaphores: the lock is one of theirs, the lease has a marker of its own.
var (
	layoutLeaseGo      = Layout{name: "go-zookeeper", before: "_c_", after: "-", marker: "lease-"}
	layoutLeaseCurator = Layout{name: "curator", before: "_c_", after: "-", marker: "lease-", dashed: true}
)

// SemaphoreLayouts lists the layouts that semaphores can have, the default first. kazoo's has no queue of leases.
var SemaphoreLayouts = []Layout{LayoutGoZookeeper, LayoutCurator}

// reading is the layout of a reader's znode.
func (l Layout) reading() Layout {
	l.marker = l.shared
	return l
}

// Name is the layout's name in profiles; the zero Layout has none.
func (l Layout) Name() string { return l.name }

// prefix is the name of a new child without its number.
func (l Layout) prefix(guid string) string {
	if l.dashed {
		guid = dashed(guid)
	}
	return l.before + guid + l.after + l.marker
}

// dashed writes a guid as a UUID.
func dashed(guid string) string {
	return guid[:8] + "-" + guid[8:12] + "-" + guid[12:16] + "-" + guid[16:20] + "-" + guid[20:]
}

const guidBytes = 16

// newGUID names one attempt to create a znode: 128 random bits in hexadecimal. It is never the session's id or the host's
// name, because two users of one session would then adopt each other's znode.
func newGUID() string {
	var b [guidBytes]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// digits of the number that a server appends; a negative one, after the counter has wrapped, has a sign before them.
const digits = 10

// lockMarkers stand before the number in the locks of the known libraries.
var lockMarkers = []string{"lock-", "__lock__"}

// parse takes the number off a child's name. The marker must stand right before it, sign included: `lock-0000000001` is 1, which
// a regular expression on the tail alone takes for -1. A server writes its counter ten characters wide, so after the wrap a
// number has a sign and nine digits, or a sign and ten where nine do not hold it: `lock--000000001`, `lock--2147483648`. ok is
// false for a child that is not part of the queue.
func parse(name string, markers []string) (seq int32, ok bool) {
	cut := len(name) - digits
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

// counter is n as the server's counter of 32 bits can hold it.
func counter(n int64) (seq int32, ok bool) {
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, false
	}
	return int32(n), true
}

// before is the order of sequence numbers: serial-number arithmetic, as in RFC 1982, so that the order survives the wrap of
// the server's 32-bit counter as long as fewer than 2^31 numbers are alive between two children.
func before(a, b int32) bool { return a-b < 0 }

// errNotListed: the own znode is not among the children. It never means that the lock is ours.
var errNotListed = errors.New("own znode is not listed")

// position decides, apart from all waiting: ahead is the nearest child before self, or "" when self is the first. Children
// that are not part of the queue are passed to foreign and otherwise ignored. The error is errNotListed when self is missing.
func position(children []string, self string, markers []string, foreign func(string)) (ahead string, err error) {
	own, ok := parse(self, markers)
	listed := false
	var nearest int32
	for _, c := range children {
		if c == self {
			listed = true
			continue
		}
		seq, isOurs := parse(c, markers)
		if !isOurs {
			foreign(c)
			continue
		}
		if before(seq, own) && (ahead == "" || before(nearest, seq)) {
			ahead, nearest = c, seq
		}
	}
	if !listed || !ok {
		return "", errNotListed
	}
	return ahead, nil
}

// base is the last part of a path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// parent is the path without its last part, "/" at the top.
func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}
