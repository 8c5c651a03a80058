package spill

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

type item struct {
	key int32
	nth int32
	_   [3]int64
}

func byKey(a, b *item) int { return cmp.Compare(a.key, b.key) }

// Spilled values come back as from a stable sort in memory, however little memory there is, in both directions.
func TestListIsAStableSort(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		n, keys, near := r.IntN(3000), 1+r.IntN(1000), 1+r.IntN(100)
		room := NewRoom(t.TempDir(), 32*(16+r.IntN(200)))
		l, plain := New(room, byKey), New[item](room, nil)
		var want []item
		for i := range n {
			v := item{key: int32(r.IntN(keys)), nth: int32(i)}
			switch seed % 4 {
			case 1: // nearly sorted
				v.key = int32(i + r.IntN(near))
			case 2:
				v.key = int32(-i)
			}
			if l.Add(v); seed%3 == 0 && i%500 == 499 { // entire runs too
				more := slices.Clone(want[max(0, len(want)-70):])
				want = append(want, v)
				l.AddRun(slices.Clone(more))
				plain.Add(v)
				for _, m := range more {
					plain.Add(m)
				}
				want = append(want, more...)
				continue
			}
			plain.Add(v)
			want = append(want, v)
		}
		if got := slices.Collect(plain.All()); !slices.Equal(got, want) {
			t.Fatalf("seed %d: a list without an order does not keep that of adding", seed)
		}
		from, some := r.IntN(len(want)+1), make([]item, r.IntN(len(want)+50))
		if got := some[:plain.Read(from, some)]; !slices.Equal(got, want[from:min(from+len(some), len(want))]) {
			t.Fatalf("seed %d: Read(%d) of %d gives %d values, or others", seed, from, len(some), len(got))
		}
		back := slices.Clone(want)
		slices.Reverse(back)
		if got := slices.Collect(plain.Backward()); !slices.Equal(got, back) {
			t.Fatalf("seed %d: a list without an order does not go backward", seed)
		}
		slices.SortStableFunc(want, func(a, b item) int { return byKey(&a, &b) })
		if seed%3 == 0 { // AddRun values come before those in memory
			slices.SortStableFunc(want, func(a, b item) int { return cmp.Or(byKey(&a, &b), cmp.Compare(a.nth, b.nth)) })
		}
		got := slices.Collect(l.All())
		if seed%3 == 0 {
			slices.SortStableFunc(got, func(a, b item) int { return cmp.Or(byKey(&a, &b), cmp.Compare(a.nth, b.nth)) })
		}
		if !slices.Equal(got, want) || l.Len() != len(want) {
			t.Fatalf("seed %d: %d of %d values, or in another order", seed, len(got), len(want))
		}
		forth := slices.Collect(l.All())
		slices.Reverse(forth)
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				if got := slices.Collect(l.Backward()); !slices.Equal(got, forth) {
					t.Errorf("seed %d: backward is not the opposite of forward", seed)
				}
			})
		}
		readers.Wait()
		for range l.All() {
			break
		}
		l.Close()
		l.Close()
		plain.Close()
		if err := room.Err(); err != nil || room.written != 0 {
			t.Fatalf("seed %d: %v, %d bytes left", seed, err, room.written)
		}
	}
}

func TestNothingHasAName(t *testing.T) {
	dir := t.TempDir()
	l := New(NewRoom(dir, 1), byKey)
	for i := range 1000 {
		l.Add(item{key: int32(i)})
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
		t.Errorf("%v, %v in the directory while the list is there", names, err)
	}
	if l.room.Most() < 32*900 {
		t.Errorf("Most() = %d, though nearly all of 32,000 bytes were spilled", l.room.Most())
	}
}

// If the disk is full or gone, or the file is shorter than it was, the room has an error, and nothing blocks.
func TestErrorsAreKept(t *testing.T) {
	fill := func(l *List[item]) {
		for i := range 1000 {
			l.Add(item{key: int32(i)})
		}
		for range l.All() {
		}
	}
	gone := NewRoom(t.TempDir()+"/gone", 1)
	if fill(New(gone, byKey)); gone.Err() == nil || !strings.Contains(gone.Err().Error(), gone.dir) {
		t.Errorf("a directory that is not there: %v", gone.Err())
	}
	full := NewRoom(t.TempDir(), 1)
	device, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	l := New(full, byKey)
	l.file = &file{room: full, f: device}
	if fill(l); !errors.Is(full.Err(), syscall.ENOSPC) {
		t.Errorf("a full disk: %v", full.Err())
	}
	short := NewRoom(t.TempDir(), 1)
	l = New(short, byKey)
	fill(l)
	l.file.f.Truncate(100)
	for range l.All() {
	}
	if short.Err() == nil {
		t.Error("a file that has lost its end: no error")
	}
	shorter := NewRoom(t.TempDir(), 1)
	l = New[item](shorter, nil)
	fill(l)
	l.file.f.Truncate(100)
	if l.Read(500, make([]item, 100)); shorter.Err() == nil {
		t.Error("a part of a file that has lost its end: no error")
	}
}

// Entire runs are sorted in the file, also those that come after a first reading.
func TestRunsAreSortedWhenTheyAreRead(t *testing.T) {
	l := New(NewRoom(t.TempDir(), 0), byKey)
	defer l.Close()
	var want []int32
	for round := range int32(3) {
		for i := range int32(5) {
			l.AddRun([]item{{key: 10*i + 9 - round}, {key: 10 * i}}, nil, []item{{key: 10*i + 3}})
			want = append(want, 10*i+9-round, 10*i, 10*i+3)
		}
		slices.Sort(want)
		var got []int32
		for v := range l.All() {
			got = append(got, v.key)
		}
		if !slices.Equal(got, want) || l.Len() != len(want) {
			t.Errorf("round %d: %v, want %v", round, got, want)
		}
	}
	if l.AddRun([]item{{key: 1}, {key: 0}}); l.room.Err() != nil {
		t.Fatal(l.room.Err())
	}
	l.file.f.Truncate(100)
	for range l.All() {
	}
	if l.room.Err() == nil {
		t.Error("a file that has lost its end: no error")
	}
}

func TestValuesHaveNoPointers(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a list of strings, which are pointers, was made")
		}
	}()
	New[struct{ name string }](nil, nil)
}

func BenchmarkList(b *testing.B) {
	const n = 1_000_000
	for _, order := range []string{"nearly", "random"} {
		b.Run(order, func(b *testing.B) {
			for b.Loop() {
				r := rand.New(rand.NewPCG(1, 1))
				l := New(NewRoom(b.TempDir(), 0), byKey)
				for i := range n {
					v := item{key: int32(i + r.IntN(100))}
					if order == "random" {
						v.key = r.Int32()
					}
					l.Add(v)
				}
				for range l.All() {
				}
				l.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/value")
		})
	}
}
