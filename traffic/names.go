package traffic

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

// changing is what differs between names of one kind: UUIDs, long hexadecimal numbers, and digits.
var changing = regexp.MustCompile(`[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|0x[0-9a-fA-F]+|[0-9a-fA-F]{16,}|-?[0-9]+`)

// words are names that say nothing of those who chose them: the servers' own, and those of the usual libraries.
var words = []string{"", "*", "zookeeper", "config", "quota", "lock", "locks", "lease", "leases", "queue", "queues", "latch", "leader", "election", "barrier", "counter"}

// namer makes patterns of paths. Names are replaced by a hash with a salt of its own, so that they cannot be looked up, unless they may be shown.
type namer struct {
	salt string
	show bool
}

// pattern returns the pattern of a path.
func (n namer) pattern(path string) string {
	if path == "/" {
		return path
	}
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		part = changing.ReplaceAllString(part, "*")
		b.WriteByte('/')
		if plain := strings.Trim(part, "-_.*"); n.show || slices.Contains(words, plain) {
			b.WriteString(part)
			continue
		}
		sum := sha256.Sum256([]byte(n.salt + part))
		b.WriteString("~" + hex.EncodeToString(sum[:4]))
		if strings.HasSuffix(part, "*") {
			b.WriteByte('*')
		}
	}
	return b.String()
}
