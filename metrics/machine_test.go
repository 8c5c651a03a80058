package metrics

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// Recorded on Linux 6.18.
func TestParseMachine(t *testing.T) {
	text, err := os.ReadFile("testdata/proc-stat.txt")
	if err != nil {
		t.Fatal(err)
	}
	const tick = 10 * time.Millisecond
	got, err := parseMachine(string(text))
	want := Machine{CPUs: 2, Idle: (50595 + 919) * tick, Stolen: 172 * tick}
	if err != nil || got != want {
		t.Errorf("parseMachine = %+v, %v, want %+v", got, err, want)
	}
	pressure, err := os.ReadFile("testdata/proc-pressure-cpu.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := parsePressure(string(pressure)); got != 672587725*time.Microsecond {
		t.Errorf("parsePressure = %v", got)
	}
	for _, bad := range []string{"", "intr 5\n", "cpu 1 2 x 4 5 6 7 8\ncpu0 1 2 3 4\n", "cpu 1 2\ncpu0 1 2\n"} {
		if m, err := parseMachine(bad); err == nil {
			t.Errorf("parseMachine(%q) = %+v, want an error: unknown is not zero", bad, m)
		}
	}
	if got := parsePressure("full avg10=0 total=7\n"); got != -1 {
		t.Errorf("parsePressure without a line some = %v, want -1", got)
	}
	m := Machine{Waiting: 5}
	if got := m.Sub(Machine{Waiting: -1}).Waiting; got != -1 {
		t.Errorf("the difference to an unknown value is %v, want -1", got)
	}
}

// A reset makes MaxRSS independent of earlier cells.
func TestResetOfMaxRSS(t *testing.T) {
	held := make([]byte, 64<<20)
	for i := range held {
		held[i] = 1
	}
	high := ReadFootprint().MaxRSS
	held = nil
	debug.FreeOSMemory()
	if err := ResetMaxRSS(); runtime.GOOS != "linux" {
		t.Skip("needs Linux: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if again := ReadFootprint().MaxRSS; again > high-32<<20 {
		t.Errorf("MaxRSS is %d MiB after a reset, and was %d MiB with 64 MiB more", again>>20, high>>20)
	}
}
