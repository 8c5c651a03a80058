package queue

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/seam"
)

func TestItemNames(t *testing.T) {
	for _, tt := range []struct {
		why   string
		names seam.Names
		name  string
		at    seam.Rank
		ok    bool
	}{
		{"an item of the recipe", fifoNames, "qn-0000000012", seam.Rank{Seq: 12}, true},
		{"after the wrap of the counter", fifoNames, "qn--2147483648", seam.Rank{Seq: math.MinInt32}, true},
		{"after the wrap, nine digits", fifoNames, "qn--000000001", seam.Rank{Seq: -1}, true},
		{"the dash before the number belongs to the prefix", fifoNames, "qn-0000000001", seam.Rank{Seq: 1}, true},
		{"a protected name, which the Java recipe ignores too", fifoNames, "_c_x-qn-0000000001", seam.Rank{}, false},
		{"somebody's configuration", fifoNames, "config", seam.Rank{}, false},
		{"no number", fifoNames, "qn-", seam.Rank{}, false},
		{"too many digits", fifoNames, "qn-00000000012", seam.Rank{}, false},
		{"Curator's priority 0", priorityNames, "queue-1000000000000000012", seam.Rank{Seq: 12}, true},
		{"priority -1", priorityNames, "queue-0FFFFFFFF0000000012", seam.Rank{Priority: -1, Seq: 12}, true},
		{"the smallest priority", priorityNames, "queue-0800000000000000012", seam.Rank{Priority: math.MinInt32, Seq: 12}, true},
		{"the largest, after the wrap", priorityNames, "queue-17FFFFFFF-2147483648", seam.Rank{Priority: math.MaxInt32, Seq: math.MinInt32}, true},
		{"a sign that contradicts the digits", priorityNames, "queue-0000000010000000012", seam.Rank{}, false},
		{"an item that was put back without its priority", priorityNames, "queue-0000000012", seam.Rank{}, false},
		{"a priority of free width", priorityNames, "queue-10000000012", seam.Rank{}, false},
		{"lower-case digits", priorityNames, "queue-0ffffffff0000000012", seam.Rank{}, false},
		{"kazoo's entry", claimNames, "entry-100-0000000012", seam.Rank{Priority: 100, Seq: 12}, true},
		{"kazoo's entry of a better priority", claimNames, "entry-007-0000000012", seam.Rank{Priority: 7, Seq: 12}, true},
		{"kazoo's priority above 999 is wider than the others", claimNames, "entry-1000-0000000012", seam.Rank{}, false},
		{"a word for a priority", claimNames, "entry-abc-0000000012", seam.Rank{}, false},
		{"Curator's time, of 2024", delayNames, "queue-|18CC251F400|0000000012", seam.Rank{Due: 1704067200000, Seq: 12}, true},
		{"Curator's time in eight digits", delayNames, "queue-|0000000F|0000000012", seam.Rank{Due: 15, Seq: 12}, true},
		{"at once, after the wrap", delayNames, "queue-|00000000000|-2147483648", seam.Rank{Seq: math.MinInt32}, true},
		{"no time", delayNames, "queue-||0000000012", seam.Rank{}, false},
		{"a time without its end mark", delayNames, "queue-|18CC251F4000000000012", seam.Rank{}, false},
		{"a time out of range", delayNames, "queue-|FFFFFFFFFFFFFFFF|0000000012", seam.Rank{}, false},
		{"a word for a time", delayNames, "queue-|tomorrow|0000000012", seam.Rank{}, false},
		{"an item with a priority", delayNames, "queue-1000000000000000012", seam.Rank{}, false},
		{"empty", claimNames, "", seam.Rank{}, false},
	} {
		at, ok := tt.names.Parse(tt.name)
		if ok != tt.ok || ok && at != tt.at {
			t.Errorf("%s: parse(%q) = %v, %v, want %v, %v", tt.why, tt.name, at, ok, tt.at, tt.ok)
		}
	}
}

// A name parses to the priority that it was made from, and names sort as text in the order of the items, as other implementations expect.
func TestItemNamesSort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	priorities := []int32{math.MinInt32, -100, -99, -10, -9, -1, 0, 1, 9, 10, 99, 100, math.MaxInt32}
	for range 100 {
		priorities = append(priorities, int32(r.Uint32()))
	}
	var names []string
	for _, p := range priorities {
		for _, number := range []string{"0000000009", "0000000010"} {
			name := priorityNames.Prefix(recipes.Item{Priority: p}) + number
			if at, ok := priorityNames.Parse(name); !ok || at.Priority != p {
				t.Errorf("priority %d is written as %s and parsed as %d, %v", p, name, at.Priority, ok)
			}
			names = append(names, name)
		}
	}
	sorted := slices.Sorted(slices.Values(names))
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if got := inOrder(names, priorityNames, func(name string) { t.Errorf("%s is foreign", name) }); !slices.Equal(got, sorted) {
		t.Errorf("in order of the items %q\nin order of the text %q", got, sorted)
	}
}

// Due times are rounded up to milliseconds, and their names sort as text.
func TestTimesInNames(t *testing.T) {
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	last := ""
	for _, tt := range []struct {
		due  time.Time
		want int64
	}{
		{time.Time{}, 0}, {time.UnixMilli(-5), 0}, {time.Unix(0, 1), 1}, {day, day.UnixMilli()}, {day.Add(time.Nanosecond), day.UnixMilli() + 1},
		{day.Add(time.Millisecond + 1), day.UnixMilli() + 2}, {time.Date(2527, 1, 1, 0, 0, 0, 0, time.UTC), 17577216000000},
	} {
		name := delayNames.Prefix(recipes.Item{Due: tt.due}) + "0000000001"
		at, ok := delayNames.Parse(name)
		if !ok || at.Due != tt.want || name < last {
			t.Errorf("%v is written as %s, after %s, and parsed as %d, %v, want %d", tt.due, name, last, at.Due, ok, tt.want)
		}
		last = name
	}
}

func TestInOrder(t *testing.T) {
	for _, tt := range []struct {
		why      string
		names    seam.Names
		children []string
		want     []string
		foreign  int
	}{
		{"nothing", fifoNames, nil, nil, 0},
		{"by number", fifoNames, []string{"qn-0000000010", "qn-0000000009"}, []string{"qn-0000000009", "qn-0000000010"}, 0},
		{"after the wrap the older one is still first", fifoNames, []string{"qn--2147483648", "qn-2147483647"}, []string{"qn-2147483647", "qn--2147483648"}, 0},
		{"foreign children are ignored", fifoNames, []string{"config", "qn-0000000009", "lock-0000000001"}, []string{"qn-0000000009"}, 2},
		{"by priority, then number", priorityNames,
			[]string{"queue-1000000010000000001", "queue-1000000000000000003", "queue-0FFFFFFFF0000000004", "queue-1000000000000000002"},
			[]string{"queue-0FFFFFFFF0000000004", "queue-1000000000000000002", "queue-1000000000000000003", "queue-1000000010000000001"}, 0},
	} {
		foreign := 0
		got := inOrder(tt.children, tt.names, func(string) { foreign++ })
		if !slices.Equal(got, tt.want) || foreign != tt.foreign {
			t.Errorf("%s: inOrder(%q) = %q with %d foreign, want %q with %d", tt.why, tt.children, got, foreign, tt.want, tt.foreign)
		}
	}
}

func TestUnclaimed(t *testing.T) {
	const a, b, c = "entry-100-0000000001", "entry-100-0000000002", "entry-100-0000000003"
	for _, tt := range []struct {
		why            string
		entries, taken []string
		want           []string
	}{
		{"nothing", nil, nil, nil},
		{"none is claimed", []string{b, a}, nil, []string{a, b}},
		{"the first is claimed", []string{b, a}, []string{a}, []string{b}},
		{"all are claimed", []string{b, a}, []string{a, b}, nil},
		{"a claim whose item is finished", []string{b}, []string{a, c}, []string{b}},
	} {
		if got := unclaimed(tt.entries, tt.taken, claimNames, func(string) {}); !slices.Equal(got, tt.want) {
			t.Errorf("%s: unclaimed(%q, %q) = %q, want %q", tt.why, tt.entries, tt.taken, got, tt.want)
		}
	}
}

func FuzzItemNames(f *testing.F) {
	f.Add("qn-0000000001")
	f.Add("queue-1000000000000000012")
	f.Add("entry-100-0000000012")
	f.Fuzz(func(t *testing.T, name string) {
		for _, n := range []seam.Names{fifoNames, priorityNames} {
			if at, ok := n.Parse(name); ok && !strings.HasPrefix(name, n.Prefix(recipes.Item{Priority: at.Priority})) {
				t.Errorf("Parse(%q) = %v, but names of that priority start with %q", name, at, n.Prefix(recipes.Item{Priority: at.Priority}))
			}
		}
		claimNames.Parse(name)
	})
}

func TestPick(t *testing.T) {
	last := func(n int) int { return n - 1 }
	for _, c := range []struct {
		sentence         string
		window, names, i int
		pick             func(int) int
	}{
		{"without a window the first", 0, 5, 0, last}, {"a window of one", 1, 5, 0, last}, {"a window of two", 2, 5, 1, last}, {"of three", 3, 5, 2, last},
		{"fewer items than the window", 9, 2, 1, last}, {"a single one", 9, 1, 0, last}, {"without Pick", 3, 5, 0, nil},
	} {
		q := &ordered{producer: producer{o: recipes.Options{Pick: c.pick}}, window: c.window, list: itemList{names: make([]string, c.names)}}
		if i := q.pick(); i != c.i {
			t.Errorf("%s: %d, want %d", c.sentence, i, c.i)
		}
	}
}
