package trace

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Names replaces the names in paths by hashes: the same name by the same hash, as long as the salt is the same. The number at the end of a sequential name stays, and so do names that
// servers gave. It is not safe for concurrent use.
type Names struct {
	salt []byte
	seen map[string]string // names and their hashes, the last ones
}

// NewNames returns a replacer with a salt, which nobody should know who is not to look names up.
func NewNames(salt string) *Names { return &Names{salt: []byte(salt), seen: map[string]string{}} }

// mostSeen is how many names are remembered at a time.
const mostSeen = 1 << 16

// own are the names of the servers' own znodes, below /zookeeper.
var own = []string{"zookeeper", "config", "quota", "zookeeper_limits", "zookeeper_stats"}

// Path returns a path with its names replaced.
func (n *Names) Path(path string) string {
	if path == "" || path == "/" {
		return path
	}
	var b strings.Builder
	theirs := path == "/zookeeper" || strings.HasPrefix(path, "/zookeeper/")
	for i, name := range strings.Split(path, "/") {
		if i > 0 {
			b.WriteByte('/')
		}
		if theirs && slices.Contains(own, name) {
			b.WriteString(name)
		} else {
			b.WriteString(n.name(name))
		}
	}
	return b.String()
}

func (n *Names) name(name string) string {
	if asked, _, ok := Numbered(name); ok { // more than one number if the client asked for a name with one
		return n.name(asked) + name[len(asked):]
	}
	if name == "" {
		return ""
	}
	if hash, ok := n.seen[name]; ok {
		return hash
	}
	mac := hmac.New(sha256.New, n.salt)
	mac.Write([]byte(name))
	hash := hex.EncodeToString(mac.Sum(nil)[:8])
	if _, _, ok := Numbered(hash); ok { // by chance: it must not look like a number that the servers gave
		hash = "x" + hash[1:len(hash)-1] + "x"
	}
	if len(n.seen) >= mostSeen {
		clear(n.seen)
	}
	n.seen[strings.Clone(name)] = hash
	return hash
}
