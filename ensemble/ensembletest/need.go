package ensembletest

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/local"
	"github.com/zkbench/zkbench/ensemble/versions"
)

// Need skips a test if something is missing that the machine may lack, and says what it is and which Debian package contains it. A package is given as
// "PACKAGE:FILE", where FILE is a path or the name of a program. With ZKBENCH_REQUIRE_PACKAGES=1, as in 'make test-all', the test fails instead.
func Need(t testing.TB, packages ...string) {
	t.Helper()
	for _, p := range packages {
		name, file, _ := strings.Cut(p, ":")
		_, err := os.Stat(file)
		if !strings.HasPrefix(file, "/") {
			_, err = exec.LookPath(file)
		}
		if err != nil {
			lack(t, fmt.Errorf("needs the package %s: apt-get install %[1]s: %w", name, err), "1")
		}
	}
}

// NeedServers is Need for starting servers: Java and ZooKeeper. ZKBENCH_REQUIRE_PACKAGES=servers, as in 'make test', requires only these.
func NeedServers(t testing.TB) {
	t.Helper()
	if err := local.Check(local.Config{}); err != nil {
		lack(t, err, "1", "servers")
	}
}

// NeedVersion is NeedServers for one version of ZooKeeper. It fetches the version into the cache of package versions if it is not found on this machine.
func NeedVersion(t testing.TB, version string) {
	t.Helper()
	if _, err := versions.Find(version); err != nil {
		if _, err := versions.Fetch(t.Context(), version, "", func(said string) { t.Log(said) }); err != nil {
			lack(t, err, "1")
		}
	}
	if err := local.Check(local.Config{ZooKeeper: version}); err != nil {
		lack(t, err, "1")
	}
}

// lack fails a test if ZKBENCH_REQUIRE_PACKAGES has one of these values, and otherwise skips it.
func lack(t testing.TB, err error, required ...string) {
	t.Helper()
	if value := os.Getenv("ZKBENCH_REQUIRE_PACKAGES"); slices.Contains(required, value) {
		t.Fatalf("ZKBENCH_REQUIRE_PACKAGES=%s: %v", value, err)
	} else {
		t.Skip(err)
	}
}
