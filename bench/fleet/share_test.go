package fleet

import "testing"

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

// No session is left out, and none is counted twice.
func TestSharesTakeAllSessions(t *testing.T) {
	for count := range 9 {
		for sessions := range 30 {
			sum := 0
			for index := range max(count, 1) {
				sum += Share{index, count}.Of(sessions)
			}
			if sum != sessions {
				t.Errorf("%d shares of %d sessions take %d", count, sessions, sum)
			}
		}
	}
}
