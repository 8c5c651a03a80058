package host

import "testing"

func TestParseStat(t *testing.T) {
	const rest = " S 1 2 3 4 5 6 7 8 9 10 40 2 13 14 15 16 17 18 777 20 55 22"
	want := Stat{State: 'S', CPU: 42, Start: 777, RSS: 55}
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
	if !InMemory("/dev/shm") {
		t.Error("InMemory(/dev/shm) = false, want true")
	}
	if InMemory("/proc") {
		t.Error("InMemory(/proc) = true, want false: it is neither tmpfs nor ramfs")
	}
}
