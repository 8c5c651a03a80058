package semaphore

import "testing"

func TestLeases(t *testing.T) {
	for _, tt := range []struct {
		why      string
		children []string
		count    int
		listed   bool
		foreign  int
	}{
		{"none", nil, 0, false, 0},
		{"own lease among others of both layouts", []string{"_c_x-lease-0000000001", "me-lease-0000000002"}, 2, true, 0},
		{"own lease is missing", []string{"_c_x-lease-0000000001"}, 1, false, 0},
		{"foreign children take no permit", []string{"me-lease-0000000002", "max", "x-lock-0000000001"}, 1, true, 2},
	} {
		foreign := 0
		count, listed := leases(tt.children, "me-lease-0000000002", func(string) { foreign++ })
		if count != tt.count || listed != tt.listed || foreign != tt.foreign {
			t.Errorf("%s: leases(%q) = %d, %v with %d foreign, want %d, %v with %d", tt.why, tt.children, count, listed, foreign, tt.count, tt.listed,
				tt.foreign)
		}
	}
}
