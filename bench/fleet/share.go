package fleet

import (
	"fmt"
	"strconv"
	"strings"
)

// MostShares is the maximum number of shares of a run.
const MostShares = 1000

// Share is the part of a run's sessions that one process carries out: every Count-th session, starting with the one at Index (from 0), in the order of
// internal/sharing. So every object has contenders from every share. The zero value is all sessions.
type Share struct{ Index, Count int }

// ParseShare parses '2/8', the second of eight shares, or 'index:1/8', the same share counted from 0.
func ParseShare(text string) (Share, error) {
	number, least := text, 1
	if rest, zeroBased := strings.CutPrefix(text, "index:"); zeroBased {
		number, least = rest, 0
	}
	i, n, _ := strings.Cut(number, "/")
	index, err := strconv.Atoi(i)
	count, err2 := strconv.Atoi(n)
	switch {
	case err != nil || err2 != nil:
		return Share{}, fmt.Errorf("share %q: must be I/N, such as 2/8, or index:I/N with I from 0", text)
	case count < 1 || count > MostShares:
		return Share{}, fmt.Errorf("share %q: the number of shares must be 1 to %d", text, MostShares)
	case index < least || index >= count+least:
		return Share{}, fmt.Errorf("share %q: of %d shares I must be %d to %d", text, count, least, count+least-1)
	}
	return Share{index - least, count}, nil
}

// String returns text such as '2/8'.
func (s Share) String() string { return fmt.Sprintf("%d/%d", s.Number(), s.count()) }

// Number returns the number of the share, from 1.
func (s Share) Number() int { return s.Index + 1 }

func (s Share) count() int { return max(s.Count, 1) }

// Whole reports whether the share covers all sessions.
func (s Share) Whole() bool { return s.count() == 1 }

// Lowest reports whether this share does what is done once for all shares: it creates the objects, looks at what is left, and removes the root.
func (s Share) Lowest() bool { return s.Index == 0 }

// Of returns how many of the given sessions belong to the share.
func (s Share) Of(sessions int) int { return max(sessions-s.Index+s.count()-1, 0) / s.count() }
