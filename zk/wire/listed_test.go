package wire

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/internal/jute"
)

// wireOf encodes a list of names.
func wireOf(all []string) []byte {
	b := jute.AppendInt32(nil, int32(len(all)))
	for _, name := range all {
		b = jute.AppendString(b, name)
	}
	return b
}

// take decodes as Children does: the list that it returns belongs to the caller.
func (c *listed) take(path string, wire []byte) ([]string, error) {
	own, shared, err := c.decode(path, wire)
	if shared != nil {
		own = slices.Clone(shared)
	}
	return own, err
}

// queueNames returns names like those of a lock's contenders.
func queueNames(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("_c_0123456789abcdef0123456789abcdef-lock-%010d", i)
	}
	return all
}

// TestListsAreWhatWasSent: however a list differs from the previous one, decoding returns the names of the reply, and leaves lists that callers
// already have unchanged.
func TestListsAreWhatWasSent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		var c listed
		all := queueNames(30 + r.IntN(100))
		type given struct{ got, want []string }
		var before []given
		for step := range 30 {
			got, err := c.take("/queue", wireOf(all))
			if err != nil || !slices.Equal(got, all) {
				t.Fatalf("round %d, step %d: %d names and %v, want %d: %q", round, step, len(got), err, len(all), got)
			}
			before = append(before, given{got, slices.Clone(all)})
			if r.IntN(10) == 0 {
				got[r.IntN(len(got))] = "mine" // callers may change their lists
				before = before[:len(before)-1]
			}
			for range r.IntN(3) {
				i := r.IntN(len(all))
				switch r.IntN(4) {
				case 0:
					all = slices.Insert(all, i, fmt.Sprintf("lock-%0*d", 1+r.IntN(20), r.IntN(1e6)))
				case 1:
					all = slices.Insert(all, i, all[i]) // a duplicate, so that the common prefix and suffix overlap
				case 2:
					all[i] = all[i][:len(all[i])-1]
				default:
					if len(all) > 25 {
						all = slices.Delete(all, i, i+1)
					}
				}
			}
			if r.IntN(20) == 0 {
				r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			}
		}
		for i, b := range before {
			if !slices.Equal(b.got, b.want) {
				t.Fatalf("round %d: list %d was changed after it was given out", round, i)
			}
		}
	}
}

// TestListsShareMemory: a list that has changed a little allocates only its slice and the new names, and one that was just read allocates nothing.
func TestListsShareMemory(t *testing.T) {
	all := queueNames(1000)
	changed := slices.Concat(all[:500], []string{"lock-0000001000"}, all[501:])
	wires := [][]byte{wireOf(all), wireOf(changed)}
	var c listed
	for range 3 {
		if _, err := c.take("/queue", wires[0]); err != nil {
			t.Fatal(err)
		}
	}
	i := 0
	if n := testing.AllocsPerRun(100, func() { i++; c.decode("/queue", wires[i%2]) }); n > 5 {
		t.Errorf("a list with one new name takes %v allocations", n)
	}
	c.decode("/queue", wires[0])
	c.decode("/queue", wires[0])
	if n := testing.AllocsPerRun(100, func() { c.decode("/queue", wires[0]) }); n > 0 {
		t.Errorf("a list that was just read takes %v allocations", n)
	}
}

// TestHostileListsAfterGoodOnes: an invalid reply is refused even if it shares its prefix and suffix with a remembered list.
func TestHostileListsAfterGoodOnes(t *testing.T) {
	all := queueNames(100)
	good := wireOf(all)
	count := slices.Clone(good)
	count[3]++
	length := slices.Clone(good)
	length[4+50*(4+len(all[0]))+3]++
	short := slices.Clone(good[:len(good)-1])
	negative := slices.Clone(good)
	copy(negative[4+50*(4+len(all[0])):], []byte{0xff, 0xff, 0xff, 0xff})
	for name, bad := range map[string][]byte{"count": count, "length": length, "cut": short, "negative": negative} {
		var c listed
		for range 2 {
			if _, err := c.take("/queue", good); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := c.take("/queue", bad); err == nil {
			t.Errorf("%s: decoded as %d names", name, len(got))
		}
		if got, err := c.take("/queue", good); err != nil || !slices.Equal(got, all) {
			t.Errorf("%s: the good list after it: %v", name, err)
		}
	}
}

// FuzzListed decodes two replies in turn: the first must not change the result of the second.
func FuzzListed(f *testing.F) {
	all := queueNames(40)
	f.Add(wireOf(all), wireOf(all[1:]))
	f.Add(wireOf(all), wireOf(append(all[:20:20], all[19:]...)))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var c listed
		c.take("/", first)
		c.take("/", first)
		got, err := c.take("/", second)
		want, wantErr := jute.Strings(string(second))
		if (err == nil) != (wantErr == nil) || !slices.Equal(got, want) {
			t.Errorf("after another list %q and %v, alone %q and %v", got, err, want, wantErr)
		}
	})
}

// BenchmarkList decodes a list of 1008 names: one that is new, one that differs from the previous list by a name, and the same list again.
func BenchmarkList(b *testing.B) {
	all := queueNames(1008)
	wires := [][]byte{wireOf(all), wireOf(all[1:])}
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var c listed
			c.take("/queue", wires[0])
		}
	})
	b.Run("changed", func(b *testing.B) {
		b.ReportAllocs()
		var c listed
		for i := 0; b.Loop(); i++ {
			c.take("/queue", wires[i%2])
		}
	})
	b.Run("same", func(b *testing.B) {
		b.ReportAllocs()
		var c listed
		for b.Loop() {
			c.take("/queue", wires[0])
		}
	})
}

// A list that differs little is derived from the previous one; one that differs much is decoded in full. Callers see no difference.
func TestWhichListsAreEdited(t *testing.T) {
	all := queueNames(40)
	wire := wireOf(all)
	for _, c := range []struct {
		sentence string
		next     []string
		edited   bool
	}{
		{"the first name is gone", all[1:], true},
		{"the last name is gone", all[:39], true},
		{"one in the middle is gone", slices.Delete(slices.Clone(all), 20, 21), true},
		{"one is new at the end", append(slices.Clone(all), "lock-0000000040"), true},
		{"one is new at the start", append([]string{"lock-0000000040"}, all...), true},
		{"an empty name is new", append(slices.Clone(all), ""), true},
		{"one has another length", append(slices.Clone(all[:39]), "lock"), true},
		{"just under half is new", append(slices.Clone(all[:21]), reversed(all[21:])...), true},
		{"one name is half of the whole", slices.Concat(all[:20], []string{strings.Repeat("x", len(wireOf(all))-4-len(wireOf(all[:1]))+4)}, all[21:]), true},
		{"one name is a byte more than half", slices.Concat(all[:20], []string{strings.Repeat("x", len(wireOf(all))-4-len(wireOf(all[:1]))+5)}, all[21:]), false},
		{"more than half is new", append(slices.Clone(all[:19]), reversed(all[19:])...), false},
	} {
		var l list
		l.replace(wire, all)
		if got := l.edit(wireOf(c.next)); got != c.edited {
			t.Errorf("%s: edited: %v, want %v", c.sentence, got, c.edited)
		}
		want, at := all, wire
		if c.edited {
			want, at = c.next, wireOf(c.next)
		}
		var fresh list
		fresh.replace(at, want)
		if !slices.Equal(l.own, want) || string(l.wire) != string(at) || !slices.Equal(l.at, fresh.at) {
			t.Errorf("%s: %d names at %v, want %d at %v", c.sentence, len(l.own), l.at, len(want), fresh.at)
		}
	}
	var none list
	if none.edit(wire) {
		t.Error("an empty list was edited")
	}
}

func reversed(names []string) []string {
	names = slices.Clone(names)
	slices.Reverse(names)
	return names
}

func TestRecords(t *testing.T) {
	for _, c := range []struct {
		wire []byte
		want []string
		bad  bool
	}{
		{nil, nil, false},
		{wireOf([]string{"a", "", "bc"})[4:], []string{"a", "", "bc"}, false},
		{wireOf([]string{"a", "bc"})[4:9], []string{"a"}, false},
		{wireOf([]string{"a", "bc"})[4:10], nil, true},
		{wireOf([]string{"abc"})[4:10], nil, true},
		{jute.AppendInt32(nil, -1), nil, true},
	} {
		got, err := records(c.wire)
		if (err != nil) != c.bad || !c.bad && !slices.Equal(got, c.want) {
			t.Errorf("records(%q) = %q, %v; want %q, an error: %v", c.wire, got, err, c.want, c.bad)
		}
	}
}

func TestCommonParts(t *testing.T) {
	for _, n := range []int{0, 1, span - 1, span, span + 1, 2 * span, 2*span + 7} {
		for _, differs := range []int{0, 1, span - 1, span, span + 1, 2*span - 1, 2 * span, n} { // length of the common part
			if differs > n {
				continue
			}
			a := make([]byte, n)
			b := append(slices.Clone(a), 1, 2, 3)
			if differs < n {
				b[differs] = 1
			}
			if got := commonPrefix(a, b); got != differs {
				t.Errorf("commonPrefix of %d bytes, the same up to %d: %d", n, differs, got)
			}
			slices.Reverse(b)
			if got := commonSuffix(a, b); got != differs {
				t.Errorf("commonSuffix of %d bytes, the same from %d before the end: %d", n, differs, got)
			}
		}
	}
}

// Short and very long lists are not remembered, and of the others only the last few.
func TestWhichListsAreRemembered(t *testing.T) {
	var c listed
	short, long := queueNames(2), make([]string, 1)
	long[0] = string(make([]byte, longList))
	for path, all := range map[string][]string{"/short": short, "/long": long} {
		if c.take(path, wireOf(all)); c.find(path) != nil {
			t.Errorf("the list of %s is remembered", path)
		}
	}
	exact := func(n int) []byte { return wireOf([]string{string(make([]byte, n-8))}) }
	for i, wire := range [][]byte{exact(shortList), exact(longList)} {
		path := fmt.Sprint("/bound-", i)
		if c.take(path, wire); c.find(path) == nil {
			t.Errorf("a list of %d bytes is not remembered", len(wire))
		}
	}
	for i := range recentLists + 1 {
		c.take(fmt.Sprint("/queue-", i), wireOf(queueNames(40)))
	}
	for i := range recentLists + 1 {
		if path := fmt.Sprint("/queue-", i); (c.find(path) != nil) != (i > 0) {
			t.Errorf("%s is remembered: %v (%d lists are, and %d are newer)", path, c.find(path) != nil, recentLists, recentLists-i)
		}
	}
}
