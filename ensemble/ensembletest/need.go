package ensembletest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/local"
)

// Need skips a test where something is missing that the machine may lack, and says what and which of Debian's packages has it:
// "PACKAGE:FILE", where FILE is a path or the name of a program. With ZKBENCH_REQUIRE_PACKAGES=1, as in 'make test', the test fails instead.
func Need(t testing.TB, packages ...string) {
	t.Helper()
	for _, p := range packages {
		name, file, _ := strings.Cut(p, ":")
		_, err := os.Stat(file)
		if !strings.HasPrefix(file, "/") {
			_, err = exec.LookPath(file)
		}
		if err != nil {
			lack(t, fmt.Errorf("%w: install it: apt-get install %s", err, name))
		}
	}
}

// NeedServers is Need for what starting servers takes: Java and ZooKeeper.
func NeedServers(t testing.TB) {
	t.Helper()
	if err := local.Missing(); err != nil {
		lack(t, err)
	}
}

func lack(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("ZKBENCH_REQUIRE_PACKAGES") == "1" {
		t.Fatalf("ZKBENCH_REQUIRE_PACKAGES is set: %v", err)
	} else {
		t.Skip(err)
	}
}
