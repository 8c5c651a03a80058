package ensembletest

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/local"
)

// Need skips a test where something is missing that the machine may lack, and says what and which of Debian's packages has it:
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
			lack(t, fmt.Errorf("%w: install it: apt-get install %s", err, name), "1")
		}
	}
}

// NeedServers is Need for what starting servers takes: Java and ZooKeeper. ZKBENCH_REQUIRE_PACKAGES=servers, as in 'make test', requires these alone.
func NeedServers(t testing.TB) {
	t.Helper()
	if err := local.Missing(); err != nil {
		lack(t, err, "1", "servers")
	}
}

// lack fails a test where one of these values of ZKBENCH_REQUIRE_PACKAGES is set, and otherwise skips it.
func lack(t testing.TB, err error, required ...string) {
	t.Helper()
	if value := os.Getenv("ZKBENCH_REQUIRE_PACKAGES"); slices.Contains(required, value) {
		t.Fatalf("ZKBENCH_REQUIRE_PACKAGES=%s: %v", value, err)
	} else {
		t.Skip(err)
	}
}
