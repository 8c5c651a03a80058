package command

import (
	"path/filepath"
	"testing"

	"github.com/zkbench/zkbench/results"
)

// The profile in a result directory loads the same servers as the run: if servers were given, they must be given again, and no others are started.
func TestARunOnGivenServersIsRepeated(t *testing.T) {
	t.Parallel()
	address := servers.Get(t, 1).Addresses()[0]
	o, first := evident(t, "run", small(t, "ensemble: local:3"), "--servers", address)
	o.want(exitOK)
	profile := filepath.Join(first, results.ProfileFile)
	zkbench(t, "run", profile).want(exitUsage, "the profile needs running servers", "--servers", "--ensemble local:3")
	again, _ := evident(t, "run", profile, "--servers", address)
	again.want(exitOK, "holds")
}
