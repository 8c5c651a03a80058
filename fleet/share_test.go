package fleet

import (
	"slices"
	"testing"
)

func TestShareIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]Share{"1/1": {0, 1}, "2/8": {1, 8}, "8/8": {7, 8}, "index:0/8": {0, 8}, "index:7/8": {7, 8}} {
		got, err := ParseShare(text)
		if err != nil || got != want {
			t.Errorf("ParseShare(%q) = %v, %v, want %v", text, got, err, want)
		}
		if again, err := ParseShare(got.String()); err != nil || again != got {
			t.Errorf("%v is not read as it is written: %v, %v", got, again, err)
		}
	}
	for _, text := range []string{"", "1", "/", "0/8", "9/8", "1/0", "-1/2", "a/b", "1/2/3", "index:8/8", "index:-1/8", "1/1001", "1.5/2", "index:1"} {
		if got, err := ParseShare(text); err == nil {
			t.Errorf("ParseShare(%q) = %v, want an error", text, got)
		}
	}
}

// Every session belongs to one share, and has the place in it that it is found at.
func TestSharesTakeEachSessionOnce(t *testing.T) {
	for count := range 9 {
		for sessions := range 30 {
			var all []int
			for index := range max(count, 1) {
				s := Share{index, count}
				for place := range s.Of(sessions) {
					session := s.Session(place)
					if s.Place(uint32(session)) != place {
						t.Fatalf("share %v: session %d has place %d, want %d", s, session, s.Place(uint32(session)), place)
					}
					all = append(all, session)
				}
			}
			slices.Sort(all)
			for i, session := range all {
				if session != i || len(all) != sessions {
					t.Fatalf("%d shares of %d sessions take %v", count, sessions, all)
				}
			}
		}
	}
}
