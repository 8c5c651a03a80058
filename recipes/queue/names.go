package queue

import (
	"fmt"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/seam"
	"github.com/zkbench/zkbench/recipes/internal/znode"
)

// inRank reports whether a comes before b: earlier due time, then better priority, then earlier arrival.
func inRank(a, b seam.Rank) bool {
	if a.Due != b.Due {
		return a.Due < b.Due
	}
	if a.Priority != b.Priority {
		return a.Priority < b.Priority
	}
	return znode.Before(a.Seq, b.Seq)
}

const (
	fifoPrefix     = "qn-"
	priorityPrefix = "queue-"
	claimPrefix    = "entry-"
	// kazooPriority is the priority that kazoo's queues give to an item by default.
	kazooPriority = "100-"
)

// fifoNames are those of ZooKeeper's queue recipe and of Apache Curator's SimpleDistributedQueue, which ignore all other names.
var fifoNames = seam.Names{
	Before: inRank,
	Prefix: func(recipes.Item) string { return fifoPrefix },
	Parse:  func(name string) (seam.Rank, bool) { return suffixed(name, fifoPrefix) },
}

// priorityNames are those of Apache Curator's DistributedPriorityQueue: a digit for the sign, then the priority as eight hexadecimal
// digits. A priority of variable width, as in the recipe page's 'queue-YY', neither sorts nor parses: 'queue-1' with the number
// 0000000012 is 'queue-10' with 000000012.
var priorityNames = seam.Names{
	Before: inRank,
	Prefix: func(it recipes.Item) string {
		sign := 1
		if it.Priority < 0 {
			sign = 0
		}
		return fmt.Sprintf("%s%d%08X", priorityPrefix, sign, uint32(it.Priority))
	},
	Parse: func(name string) (seam.Rank, bool) {
		const width = len(priorityPrefix) + 9
		if len(name) < width || name[:len(priorityPrefix)] != priorityPrefix {
			return seam.Rank{}, false
		}
		r, ok := suffixed(name, name[:width])
		bits, hex := hexadecimal(name[width-8 : width])
		r.Priority = int32(uint32(bits))
		sign := byte('1')
		if r.Priority < 0 {
			sign = '0'
		}
		return r, ok && hex && name[len(priorityPrefix)] == sign
	},
}

// claimNames are those of kazoo's LockingQueue: three digits of priority, the smallest first.
var claimNames = seam.Names{
	Before: inRank,
	Prefix: func(recipes.Item) string { return claimPrefix + kazooPriority },
	Parse: func(name string) (seam.Rank, bool) {
		const width = len(claimPrefix) + len(kazooPriority)
		if len(name) < width || name[:len(claimPrefix)] != claimPrefix || name[width-1] != '-' {
			return seam.Rank{}, false
		}
		r, ok := suffixed(name, name[:width])
		for _, c := range []byte(name[len(claimPrefix) : width-1]) {
			ok = ok && '0' <= c && c <= '9'
			r.Priority = 10*r.Priority + int32(c-'0')
		}
		return r, ok
	},
}

// suffixed extracts the number from a name that consists of prefix and number.
func suffixed(name, prefix string) (seam.Rank, bool) {
	if len(name) < len(prefix)+znode.Digits || len(name) > len(prefix)+znode.Digits+1 || name[:len(prefix)] != prefix {
		return seam.Rank{}, false
	}
	seq, ok := znode.Parse(name, []string{prefix})
	return seam.Rank{Seq: seq}, ok
}

// hexadecimal reads upper-case digits.
func hexadecimal(s string) (n uint64, ok bool) {
	for _, c := range []byte(s) {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | uint64(c-'0')
		case 'A' <= c && c <= 'F':
			n = n<<4 | uint64(c-'A'+10)
		default:
			return 0, false
		}
	}
	return n, true
}
