package lock

import (
	"errors"
	"math"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/znode"
)

func TestParseRole(t *testing.T) {
	for _, tt := range []struct {
		why, name string
		role      role
		seq       int32
	}{
		{"Curator's reader", "_c_01234567-89ab-cdef-0123-456789abcdef-__READ__0000000007", reader, 7},
		{"Curator's writer", "_c_01234567-89ab-cdef-0123-456789abcdef-__WRIT__0000000007", writer, 7},
		{"kazoo's reader", "0123456789abcdef0123456789abcdef__rlock__0000000007", reader, 7},
		{"kazoo's writer", "0123456789abcdef0123456789abcdef__lock__0000000007", writer, 7},
		{"the articles' reader", "host-R-0000000007", reader, 7},
		{"a host whose name looks like a writer's, parsed from the right", "W-W-1-R-0000000007", reader, 7},
		{"a host whose name looks like a reader's", "x-R-0000000001-W-0000000007", writer, 7},
		{"the dash before the number belongs to the marker", "host-W-0000000001", writer, 1},
		{"after the wrap the number has its own sign", "host-W--2147483648", writer, math.MinInt32},
		{"go-zookeeper's exclusive lock, which has no readers", "_c_x-lock-0000000007", foreigner, 0},
		{"a word", "content", foreigner, 0},
		{"empty", "", foreigner, 0},
	} {
		if r, seq := parseRole(tt.name); r != tt.role || seq != tt.seq {
			t.Errorf("%s: parseRole(%q) = %d, %d, want %d, %d", tt.why, tt.name, r, seq, tt.role, tt.seq)
		}
	}
}

func TestSharedPosition(t *testing.T) {
	const r1, w2, w3, r4, r5, w6 = "a-__READ__0000000001", "b-__WRIT__0000000002", "c-__WRIT__0000000003", "d-__READ__0000000004",
		"e-__READ__0000000005", "f-__WRIT__0000000006"
	all := []string{w6, r4, w2, "0", r5, r1, w3}
	for _, tt := range []struct {
		why      string
		children []string
		self     string
		first    bool
		ahead    string
		err      error
	}{
		{"a reader at the head", all, r1, false, "", nil},
		{"a writer waits for the reader before it", all, w2, false, r1, nil},
		{"a writer waits for the writer before it", all, w3, false, w2, nil},
		{"a reader waits for the last writer before it", all, r4, false, w3, nil},
		{"or for the first, if told to watch it", all, r4, true, w2, nil},
		{"a reader does not wait for readers", all, r5, false, w3, nil},
		{"a writer waits for the nearest reader, whatever readers watch", all, w6, true, r5, nil},
		{"a reader behind only readers does not wait", []string{r1, r4, w6}, r4, false, "", nil},
		{"a reader does not wait for a writer behind it (kazoo #649)", []string{w6, r5}, r5, false, "", nil},
		{"a downgraded reader is not behind its own write znode", []string{"x-__READ__0000000002", w2, w3}, "x-__READ__0000000002", false, "", nil},
		{"a writer behind a downgraded reader waits for it", []string{"x-__READ__0000000002", w3}, w3, false, "x-__READ__0000000002", nil},
		{"mixed layouts share one queue", []string{"k__rlock__0000000001", "h-W-0000000002", r4}, r4, false, "h-W-0000000002", nil},
		{"after the wrap the older one is still ahead", []string{"a-__WRIT__2147483647", "b-__READ__-2147483648"}, "b-__READ__-2147483648", false, "a-__WRIT__2147483647", nil},
		{"a missing own znode never holds", []string{w2}, w3, false, "", znode.ErrNotListed},
		{"nor in an empty queue", nil, r1, false, "", znode.ErrNotListed},
	} {
		foreign := 0
		ahead, err := sharedPosition(tt.children, tt.self, tt.first, func(string) { foreign++ })
		if ahead != tt.ahead || !errors.Is(err, tt.err) {
			t.Errorf("%s: sharedPosition(%q, %q, %v) = %q, %v, want %q, %v", tt.why, tt.children, tt.self, tt.first, ahead, err, tt.ahead, tt.err)
		}
	}
}

// The theory for extreme loads, and for others as computed by hand.
func TestReadWriteWakes(t *testing.T) {
	for _, tt := range []struct {
		load recipes.Load
		want float64
	}{
		{recipes.Load{Sessions: 1, Readers: 0.5}, 0}, // nobody waits
		{recipes.Load{Sessions: 10, Readers: 0}, 1},  // an exclusive lock
		{recipes.Load{Sessions: 10, Readers: 1}, 0},  // nobody waits
		{recipes.Load{Sessions: 2, Readers: 0.5}, 0.75},
		{recipes.Load{Sessions: 3, Readers: 0.5}, 0.5*(0.5+0.25+0.25*1.5) + 0.5*0.75},
	} {
		if got, _ := readWriteWakes(tt.load); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("readWriteWakes(%+v) = %v, want %v", tt.load, got, tt.want)
		}
	}
}
