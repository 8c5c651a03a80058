package recipes

import "testing"

func TestWakesOne(t *testing.T) {
	for n, want := range map[int]float64{0: 0, 1: 0, 2: 1, 9: 1} {
		if release, arrival := WakesOne(n); release != want || arrival != 0 {
			t.Errorf("WakesOne(%d) = %v, %v, want %v, 0", n, release, arrival, want)
		}
	}
}
