package phrase

import (
	"testing"
	"time"
)

func TestCounts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Count(1, "session"), "1 session"}, {Count(0, "session"), "0 sessions"}, {Count(int64(2), "session"), "2 sessions"},
		{Count(1, "entry"), "1 entry"}, {Count(3, "entry"), "3 entries"}, {Count(3, "delay"), "3 delays"},
		{Times(1), "once"}, {Times(2), "twice"}, {Times(3), "3 times"}, {Times(0), "0 times"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// A lower bound that is rounded is still one, and within one unit of the last digit.
func TestLeastIsNoMore(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   float64
	}{{9980, 1, 9000}, {9980, 2, 9900}, {5990, 1, 5000}, {6000, 1, 6000}, {1.46, 2, 1.4}, {0.0999, 1, 0.09}, {1, 2, 1}, {0, 2, 0}, {-1.46, 2, -1.4}} {
		if got := Least(c.v, c.digits); got != c.want {
			t.Errorf("Least(%v, %d) = %v, want %v", c.v, c.digits, got, c.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for _, c := range []struct {
		s    float64
		want string
	}{
		{0, "0 s"}, {6e-8, "60 ns"}, {1e-9, "1 ns"}, {2.5e-10, "0.25 ns"}, {1.25e-6, "1.25 us"}, {0.0852, "85.2 ms"}, {0.085, "85 ms"}, {0.99996, "1 s"},
		{1, "1 s"}, {2.5, "2.5 s"}, {12.345, "12.3 s"}, {185, "185 s"}, {3600, "3600 s"}, {-0.25, "-250 ms"},
	} {
		if got := Seconds(c.s); got != c.want {
			t.Errorf("Seconds(%v) = %q, want %q", c.s, got, c.want)
		}
	}
	if got := Duration(1500 * time.Millisecond); got != "1.5 s" {
		t.Errorf("Duration(1.5s) = %q", got)
	}
}

func TestDigits(t *testing.T) {
	for _, c := range []struct {
		v           float64
		digits      int
		most, fixed string
	}{
		{0, 3, "0", "0"}, {2, 3, "2", "2.00"}, {1.0017, 3, "1", "1.00"}, {0.99996, 3, "1", "1.00"}, {9.996, 3, "10", "10.0"}, {17.84, 3, "17.8", "17.8"}, {449.6, 3, "450", "450"},
		{0.01234, 2, "0.012", "0.012"}, {0.5, 2, "0.5", "0.50"}, {1261, 2, "1300", "1300"}, {12465, 1, "10000", "10000"}, {97.3, 1, "100", "100"}, {-4.56, 2, "-4.6", "-4.6"},
		{100, 3, "100", "100"}, {1000, 3, "1000", "1000"}, {0.1, 2, "0.1", "0.10"},
	} {
		if most, fixed := Number(c.v, c.digits), Fixed(c.v, c.digits); most != c.most || fixed != c.fixed {
			t.Errorf("%v with %d digits: %q and %q, want %q and %q", c.v, c.digits, most, fixed, c.most, c.fixed)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1536: "1.5 KiB", 64 << 20: "64 MiB", 6442450944: "6 GiB", 3 << 50: "3072 TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestRough(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 s", 40*time.Second + 400*time.Millisecond: "40 s", 59*time.Second + 600*time.Millisecond: "1 m",
		101 * time.Second: "1 m 40 s", 2 * time.Minute: "2 m", time.Hour - time.Second: "1 h", 125*time.Minute + 20*time.Second: "2 h 5 m"} {
		if got := Rough(d); got != want {
			t.Errorf("Rough(%v) = %q, want %q", d, got, want)
		}
	}
}
