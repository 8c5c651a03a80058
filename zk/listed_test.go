package zk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func wireOf(all []string) []byte {
	b := putInt32(nil, int32(len(all)))
	for _, name := range all {
		b = putString(b, name)
	}
	return b
}

// take is decode as a caller sees it.
func (c *listed) take(path string, wire []byte) ([]string, error) {
	own, shared, err := c.decode(path, wire)
	if shared != nil {
		own = slices.Clone(shared)
	}
	return own, err
}

// queueNames are the names of a lock's queue.
func queueNames(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("_c_0123456789abcdef0123456789abcdef-lock-%010d", i)
	}
	return all
}

// TestListsAreWhatWasSent: however a list comes about from the one before, its names are the reply's, and lists that were given out
// before stay as they were.
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
				got[r.IntN(len(got))] = "mine" // the list is the caller's own
				before = before[:len(before)-1]
			}
			for range r.IntN(3) {
				i := r.IntN(len(all))
				switch r.IntN(4) {
				case 0:
					all = slices.Insert(all, i, fmt.Sprintf("lock-%0*d", 1+r.IntN(20), r.IntN(1e6)))
				case 1:
					all = slices.Insert(all, i, all[i]) // the same again, so that beginning and end overlap
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

// TestListsShareMemory counts what a list costs: the first of a path allocates all its names, one that was changed a little only its
// slice and what is new, one that was read before nothing but what the caller copies.
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
		t.Errorf("a list that was read before takes %v allocations", n)
	}
}

// TestHostileListsAfterGoodOnes: a reply whose beginning and end are those of a good list is looked at as closely as any other.
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

// FuzzListed gives decode two replies one after the other: it must say the same of the second as without the first.
func FuzzListed(f *testing.F) {
	all := queueNames(40)
	f.Add(wireOf(all), wireOf(all[1:]))
	f.Add(wireOf(all), wireOf(append(all[:20:20], all[19:]...)))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var c listed
		c.take("/", first)
		c.take("/", first)
		got, err := c.take("/", second)
		want, wantErr := names(string(second))
		if (err == nil) != (wantErr == nil) || !slices.Equal(got, want) {
			t.Errorf("after another list %q and %v, alone %q and %v", got, err, want, wantErr)
		}
	})
}

// BenchmarkList is the decoding of a list of 1008 names alone, without the network: of one that nobody has read before, of one that
// differs by a name from the one before, and of one that somebody has just read.
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
