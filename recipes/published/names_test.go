package published

import (
	"errors"
	"testing"

	"github.com/zkbench/zkbench/recipes/internal/znode"
)

func TestPlaceOfAWriteLock(t *testing.T) {
	for _, c := range []struct {
		what, id      string
		names         []string
		first, before string
	}{
		{"alone it is the first", "/d/x-1-0000000000", []string{"x-1-0000000000"}, "/d/x-1-0000000000", ""},
		{"it watches its direct predecessor", "/d/x-3-0000000003", []string{"x-3-0000000003", "x-1-0000000001", "x-2-0000000002"},
			"/d/x-1-0000000001", "/d/x-2-0000000002"},
		{"a child without a number comes last", "/d/x-1-0000000001", []string{"0", "content", "x-1-0000000001"}, "/d/x-1-0000000001", ""},
		{"a name without its directory comes after its own path", "x-1-0000000001", []string{"x-1-0000000001"},
			"/d/x-1-0000000001", "/d/x-1-0000000001"},
		{"a missing znode that was first has no predecessor", "/d/x-1-0000000001", []string{"x-2-0000000002"}, "/d/x-2-0000000002", ""},
		{"the first number after the wrap is the lowest", "/d/x-2--2147483648",
			[]string{"x-1-2147483647", "x-2--2147483648"}, "/d/x-2--2147483648", ""},
		{"later numbers follow it", "/d/x-2--2147483646", []string{"x-1-2147483647", "x-2--2147483646", "x-3--2147483648"},
			"/d/x-3--2147483648", "/d/x-3--2147483648"},
		{"a negative session is part of the prefix", "/d/x--5-0000000002", []string{"x--5-0000000002", "x-1-0000000001"},
			"/d/x-1-0000000001", "/d/x-1-0000000001"},
	} {
		l := &writeLock{dir: "/d", id: c.id, name: parseJavaName(c.id)}
		if first, before := l.place(c.names); first != c.first || before != c.before {
			t.Errorf("%s: place(%q) of %s = %q, %q, want %q, %q", c.what, c.names, c.id, first, before, c.first, c.before)
		}
	}
}

func TestAhead(t *testing.T) {
	const a, b, c, d = "x-lock-0000000001", "x-lock-0000000002", "x-lock-0000000005", "x-lock-0000000009"
	for _, tt := range []struct {
		what, self string
		children   []string
		places     int
		want       string
		err        error
	}{
		{"the first holds", a, []string{b, a}, 1, "", nil},
		{"the second watches it", b, []string{b, a}, 1, a, nil},
		{"with two permits the second holds too", b, []string{d, b, c, a}, 2, "", nil},
		{"and the third watches the first", c, []string{d, b, c, a}, 2, a, nil},
		{"and the fourth watches the second", d, []string{d, b, c, a}, 2, b, nil},
		{"foreign children do not count", b, []string{"max", b, a}, 2, "", nil},
		{"after the wrap the older one is still ahead", "x-lock--2147483648", []string{"x-lock--2147483648", "x-lock-2147483647"}, 1, "x-lock-2147483647", nil},
		{"a missing own znode does not hold", b, []string{a}, 2, "", znode.ErrNotListed},
	} {
		if got, err := ahead(tt.children, tt.self, tt.places, func(string) {}); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: ahead(%q, %s, %d) = %q, %v, want %q, %v", tt.what, tt.children, tt.self, tt.places, got, err, tt.want, tt.err)
		}
	}
}

func TestOfferID(t *testing.T) {
	for _, c := range []struct {
		name string
		id   int32
		fine bool
	}{{"n_0000000007", 7, true}, {"n_-000000007", -7, true}, {"xy7", 7, true}, {"n_", 0, false}, {"n", 0, false}, {"", 0, false}, {"n_x", 0, false}} {
		if id, err := offerID(c.name); id != c.id || (err == nil) != c.fine {
			t.Errorf("offerID(%q) = %d, %v; want %d, an error: %v", c.name, id, err, c.id, !c.fine)
		}
	}
}

func TestPlaceInTheLibrarysQueue(t *testing.T) {
	for _, c := range []struct {
		sentence string
		children []string
		own      int
		ahead    string
	}{
		{"alone", []string{"a-lock-0000000005"}, 5, ""},
		{"the direct predecessor", []string{"a-lock-0000000001", "b-lock-0000000003", "c-lock-0000000005", "d-lock-0000000007"}, 5, "b-lock-0000000003"},
		{"in any order", []string{"d-lock-0000000007", "b-lock-0000000003", "a-lock-0000000001", "c-lock-0000000005"}, 5, "b-lock-0000000003"},
		{"of two with the same number the one listed first", []string{"b-lock-0000000003", "a-lock-0000000003", "c-lock-0000000005"}, 5, "b-lock-0000000003"},
		{"number 0", []string{"a-lock-0000000000", "c-lock-0000000005"}, 5, "a-lock-0000000000"},
	} {
		if ahead, err := libraryPosition(c.children, c.own); ahead != c.ahead || err != nil {
			t.Errorf("%s: %q, %v; want %q", c.sentence, ahead, err, c.ahead)
		}
	}
	if _, err := libraryPosition([]string{"content"}, 5); err == nil {
		t.Error("libraryPosition accepted a child without a number")
	}
}

func TestJavaNames(t *testing.T) {
	for path, want := range map[string]javaName{
		"x-7": {path: "x-7", prefix: "x", seq: 7, numbered: true}, "-7": {path: "-7", seq: 7, numbered: true}, "x": {path: "x", prefix: "x"},
		"x-": {path: "x-", prefix: "x"}, "x--7": {path: "x--7", prefix: "x", seq: -7, numbered: true}, "--7": {path: "--7", seq: -7, numbered: true},
	} {
		if got := parseJavaName(path); got != want {
			t.Errorf("parseJavaName(%q) = %+v, want %+v", path, got, want)
		}
	}
}
