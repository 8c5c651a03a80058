package bubble

import (
	"testing"
	"testing/synctest"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk/zktest"
)

// Events returns how many events the servers have sent.
func Events(ens *zktest.Ensemble) int {
	n := 0
	for _, e := range ens.Counts().Events {
		n += e
	}
	return n
}

// Requests returns how many operations the servers have carried out or refused.
func Requests(ens *zktest.Ensemble) int {
	n := 0
	for _, o := range ens.Counts().Ops {
		n += o
	}
	return n
}

// Newest returns the ephemeral znode that was created last.
func Newest(t *testing.T, ens *zktest.Ensemble) string {
	t.Helper()
	best, czxid := "", int64(0)
	tree := ens.Tree()
	for _, path := range ens.Ephemerals() {
		if z := tree[path]; z.Stat.Czxid > czxid {
			best, czxid = path, z.Stat.Czxid
		}
	}
	return best
}

// Reliable fails the test if a grant is lost from the start.
func Reliable(t *testing.T, g recipes.Grant) {
	t.Helper()
	if Closed(g.Lost) {
		t.Error("the grant is lost before anything has happened to it")
	}
}

// Closed reports whether a channel is closed once everything has settled.
func Closed(c <-chan struct{}) bool {
	synctest.Wait()
	select {
	case <-c:
		return true
	default:
		return false
	}
}
