package recipes

import (
	"errors"
	"testing"
)

func TestPlaceOfAWriteLock(t *testing.T) {
	for _, c := range []struct {
		what, id      string
		names         []string
		first, before string
	}{
		{"alone it is the first", "/d/x-1-0000000000", []string{"x-1-0000000000"}, "/d/x-1-0000000000", ""},
		{"it watches the nearest before it", "/d/x-3-0000000003", []string{"x-3-0000000003", "x-1-0000000001", "x-2-0000000002"},
			"/d/x-1-0000000001", "/d/x-2-0000000002"},
		{"a child without a number is behind all", "/d/x-1-0000000001", []string{"0", "content", "x-1-0000000001"}, "/d/x-1-0000000001", ""},
		{"a name without its directory is behind its own path", "x-1-0000000001", []string{"x-1-0000000001"},
			"/d/x-1-0000000001", "/d/x-1-0000000001"},
		{"a znode that is gone is behind nobody if it was the first", "/d/x-1-0000000001", []string{"x-2-0000000002"}, "/d/x-2-0000000002", ""},
		{"the number of the wrap is none, because its sign is taken for a separator", "/d/x-2--2147483648",
			[]string{"x-1-2147483647", "x-2--2147483648"}, "/d/x-1-2147483647", "/d/x-1-2147483647"},
		{"the ones after it count without their sign", "/d/x-2--2147483646", []string{"x-1-2147483647", "x-2--2147483646"},
			"/d/x-2--2147483646", ""},
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
		{"the fourth the second", d, []string{d, b, c, a}, 2, b, nil},
		{"what is no place counts for none", b, []string{"max", b, a}, 2, "", nil},
		{"over the wrap the older is still before", "x-lock--2147483648", []string{"x-lock--2147483648", "x-lock-2147483647"}, 1, "x-lock-2147483647", nil},
		{"who is not listed does not hold", b, []string{a}, 2, "", errNotListed},
	} {
		if got, err := ahead(tt.children, tt.self, tt.places, func(string) {}); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: ahead(%q, %s, %d) = %q, %v, want %q, %v", tt.what, tt.children, tt.self, tt.places, got, err, tt.want, tt.err)
		}
	}
}
