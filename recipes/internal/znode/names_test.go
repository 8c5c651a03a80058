package znode

import (
	"errors"
	"math"
	"testing"

	"github.com/zkbench/zkbench/recipes"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		why, name string
		seq       int32
		ok        bool
	}{
		{"go-zookeeper's layout", "_c_0123456789abcdef0123456789abcdef-lock-0000000007", 7, true},
		{"Curator's layout", "_c_01234567-89ab-cdef-0123-456789abcdef-lock-0000000007", 7, true},
		{"kazoo's layout", "0123456789abcdef0123456789abcdef__lock__0000000007", 7, true},
		{"the dash before the number belongs to the marker", "x-lock-0000000001", 1, true},
		{"after the wrap the number has its own sign", "x-lock--0000000001", -1, true},
		{"near zero a server writes the sign and nine digits", "x-lock--000000001", -1, true},
		{"so does Curator's layout", "_c_01234567-89ab-cdef-0123-456789abcdef-lock--000000042", -42, true},
		{"and kazoo's", "0123456789abcdef0123456789abcdef__lock__-000000042", -42, true},
		{"the last number of nine digits", "x-lock--999999999", -999999999, true},
		{"the first number of ten digits", "x-lock--1000000000", -1000000000, true},
		{"a letter among the digits", "x-lock-00000a0001", 0, false},
		{"the character before 0", "x-lock-00000/0001", 0, false},
		{"the character after 9", "x-lock-00000:0001", 0, false},
		{"ten characters and no marker", "0000000001", 0, false},
		{"a sign alone", "x-lock----------", 0, false},
		{"the first number after the wrap", "x-lock--2147483648", math.MinInt32, true},
		{"the last number before the wrap", "x-lock-2147483647", math.MaxInt32, true},
		{"a number beyond 32 bits", "x-lock-2147483648", 0, false},
		{"a marker inside the guid", "lock-lock-0000000003", 3, true},
		{"nine digits", "x-lock-000000001", 0, false},
		{"eleven digits", "x-lock-00000000001", 0, false},
		{"another recipe's marker", "x-lease-0000000001", 0, false},
		{"a sequential znode without a marker", "n_0000000001", 0, false},
		{"foreign: a short name", "0", 0, false},
		{"foreign: a truncated protected name", "_c_x", 0, false},
		{"foreign: a word", "content", 0, false},
		{"empty", "", 0, false},
	} {
		if seq, ok := Parse(tt.name, LockMarkers); seq != tt.seq || ok != tt.ok {
			t.Errorf("%s: parse(%q) = %d, %v, want %d, %v", tt.why, tt.name, seq, ok, tt.seq, tt.ok)
		}
	}
}

func TestBefore(t *testing.T) {
	for _, tt := range []struct {
		a, b int32
		want bool
	}{
		{1, 2, true}, {2, 1, false}, {5, 5, false}, {-2, -1, true},
		{math.MaxInt32 - 1, math.MaxInt32, true},
		{math.MaxInt32, math.MinInt32, true}, // the order survives the wrap of the counter
		{math.MinInt32, math.MaxInt32, false},
		{math.MaxInt32 - 1, math.MinInt32 + 5, true},
	} {
		if got := Before(tt.a, tt.b); got != tt.want {
			t.Errorf("before(%d, %d) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestPosition(t *testing.T) {
	for _, tt := range []struct {
		why      string
		children []string
		self     string
		ahead    string
		foreign  int
		err      error
	}{
		{"alone", []string{"a-lock-0000000001"}, "a-lock-0000000001", "", 0, nil},
		{"the first of three, whatever the order of the list", []string{"c-lock-0000000003", "a-lock-0000000001", "b-lock-0000000002"}, "a-lock-0000000001", "", 0, nil},
		{"the direct predecessor, not the lowest", []string{"c-lock-0000000003", "a-lock-0000000001", "b-lock-0000000002"}, "c-lock-0000000003", "b-lock-0000000002", 0, nil},
		{"names sort by number, not as strings", []string{"z-lock-0000000001", "a-lock-0000000002"}, "a-lock-0000000002", "z-lock-0000000001", 0, nil},
		{"mixed layouts share one queue", []string{"ff__lock__0000000001", "_c_x-lock-0000000002"}, "_c_x-lock-0000000002", "ff__lock__0000000001", 0, nil},
		{"foreign children are ignored, and counted", []string{"0", "content", "_c_x", "a-lock-0000000002"}, "a-lock-0000000002", "", 3, nil},
		{"after the wrap the older one is still ahead", []string{"a-lock-2147483646", "b-lock-2147483647", "c-lock--2147483648"}, "c-lock--2147483648", "b-lock-2147483647", 0, nil},
		{"after the wrap the oldest is still first", []string{"a-lock-2147483646", "b-lock-2147483647", "c-lock--2147483648"}, "a-lock-2147483646", "", 0, nil},
		{"a missing own znode is never first", []string{"b-lock-0000000005"}, "a-lock-0000000001", "", 0, ErrNotListed},
		{"nobody is first in an empty queue", nil, "a-lock-0000000001", "", 0, ErrNotListed},
	} {
		foreign := 0
		ahead, err := Position(tt.children, tt.self, LockMarkers, func(string) { foreign++ })
		if ahead != tt.ahead || foreign != tt.foreign || !errors.Is(err, tt.err) {
			t.Errorf("%s: position(%q, %q) = %q with %d foreign, %v, want %q with %d, %v",
				tt.why, tt.children, tt.self, ahead, foreign, err, tt.ahead, tt.foreign, tt.err)
		}
	}
}

func TestParseReadsEveryLayout(t *testing.T) {
	for _, l := range recipes.Layouts {
		name := Prefix(l, NewGUID()) + "0000000042"
		if seq, ok := Parse(name, LockMarkers); seq != 42 || !ok {
			t.Errorf("layout %s: parse(%q) = %d, %v, want 42, true", l.Name, name, seq, ok)
		}
	}
}

func FuzzPosition(f *testing.F) {
	f.Add("a-lock-0000000001", "b-lock-0000000002", "0")
	f.Add("a-lock--2147483648", "b-lock-2147483647", "_c_")
	f.Fuzz(func(t *testing.T, self, other, third string) {
		ahead, err := Position([]string{third, other, self}, self, LockMarkers, func(string) {})
		if err == nil && ahead == self {
			t.Errorf("position says that %q waits for itself", self)
		}
		if _, ok := Parse(self, LockMarkers); !ok && err == nil {
			t.Errorf("position gave %q a place, though its name has no number", self)
		}
	})
}

func TestParent(t *testing.T) {
	for path, want := range map[string]string{"/a/b": "/a", "/a/b/c": "/a/b", "/a": "/", "/": "/"} {
		if got := Parent(path); got != want {
			t.Errorf("Parent(%s) = %s, want %s", path, got, want)
		}
	}
}
