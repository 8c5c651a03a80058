package ensemble

import "testing"

func TestParseStat(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 40 2 13 14 15 16 17 18 777 20 55 22"
	want := procStat{state: 'S', cpu: 42, start: 777, rss: 55}
	for _, name := range []string{"12 (java)", "12 (a b)", "12 (x) R 1 (y))"} {
		if got, err := parseStat([]byte(name + rest)); err != nil || got != want {
			t.Errorf("parseStat(%q) = %+v, %v, want %+v", name+rest, got, err, want)
		}
	}
	for _, text := range []string{"", "12 (java) S 1", "12 (java)" + " S 1 2 3 4 5 6 7 8 9 10 x 2 13 14 15 16 17 18 777 20 55"} {
		if got, err := parseStat([]byte(text)); err == nil {
			t.Errorf("parseStat(%q) = %+v, want an error", text, got)
		}
	}
}

func TestInMemory(t *testing.T) {
	if !inMemory("/dev/shm") {
		t.Error("inMemory(/dev/shm) = false, want true")
	}
	if inMemory("/proc") {
		t.Error("inMemory(/proc) = true, want false: it is neither tmpfs nor ramfs")
	}
}

// sweep leaves what a living process owns, and what an error has named.
func TestSweepLeaves(t *testing.T) {
	parent := t.TempDir()
	owned, _, err := temporaryDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	kept, _, err := temporaryDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	if err := keep(kept); err != nil {
		t.Fatal(err)
	}
	sweep(parent)
	if left := dirsIn(t, parent); len(left) != 2 {
		t.Errorf("after sweep: %v, want %s and %s", left, owned, kept)
	}
}
