package ensembletest

import (
	"testing"

	"github.com/zkbench/zkbench/ensemble/local"
)

// Versions returns the versions of ZooKeeper that the long tests run on: those of three releases of Debian.
func Versions() []string { return []string{"3.4.13", "3.8.0", "3.9.3"} }

// OfVersion returns the change that makes Start start servers of a version, which is fetched if need be (see NeedVersion).
func OfVersion(t testing.TB, version string) func(*local.Config) {
	t.Helper()
	NeedVersion(t, version)
	return func(cfg *local.Config) { cfg.ZooKeeper = version }
}
