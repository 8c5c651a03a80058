package sharing

import "testing"

// Every session belongs to one share, in which it has one place, and shares differ by at most one session.
func TestEachSessionBelongsToOneShare(t *testing.T) {
	for shares := 1; shares < 9; shares++ {
		for objects := 1; objects < 12; objects++ {
			for sessions := shares; sessions < 40; sessions++ {
				d := Deal{sessions, objects, shares}
				seen := map[int]bool{}
				for share := range shares {
					for place := range (sessions - share + shares - 1) / shares {
						s := d.Session(place, share)
						if s < 0 || s >= sessions || seen[s] || d.Of(s) != share {
							t.Fatalf("%+v: share %d has session %d at place %d, which belongs to share %d", d, share, s, place, d.Of(s))
						}
						seen[s] = true
					}
				}
				if len(seen) != sessions {
					t.Fatalf("%+v: the shares have %d sessions", d, len(seen))
				}
			}
		}
	}
}

// For any number of objects, the contenders of each are spread over as many shares as possible.
func TestEveryObjectHasContendersOfAllShares(t *testing.T) {
	for shares := 2; shares < 9; shares++ {
		for objects := 1; objects < 20; objects++ {
			for sessions := shares; sessions < 60; sessions++ {
				d := Deal{sessions, objects, shares}
				of := make([]map[int]bool, objects)
				count := make([]int, objects)
				for s := range sessions {
					if of[s%objects] == nil {
						of[s%objects] = map[int]bool{}
					}
					of[s%objects][d.Of(s)] = true
					count[s%objects]++
				}
				for object := range objects {
					if want := min(shares, count[object]); len(of[object]) != want {
						t.Fatalf("%+v: the %d contenders of object %d are of %d shares, want %d", d, count[object], object, len(of[object]), want)
					}
				}
			}
		}
	}
}
