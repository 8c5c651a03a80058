package results

import (
	"strconv"
	"strings"
)

// Fingerprint returns what the numbers of a run depend on apart from the code under test: runs with different fingerprints are not comparable. A value
// that the document lacks is empty. The duration of a sync is not part of it, because no two measurements of it are equal: see FsyncMs.
func (e Environment) Fingerprint() []Condition {
	driver, _, _ := strings.Cut(e.Ensemble, ":")
	return []Condition{{"cpu", e.CPU}, {"cores", count(e.Cores)}, {"kernel", e.Kernel}, {"file_system", e.FileSystem}, {"fsync", onOff(e.Fsync)},
		{"java", e.Java}, {"zookeeper", e.ZooKeeper}, {"servers", count(e.Servers)}, {"driver", driver}, {"engine", e.Engine}}
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func onOff(b *bool) string {
	switch {
	case b == nil:
		return ""
	case *b:
		return "on"
	}
	return "off"
}
