package ensembletest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/compose"
)

// NeedDocker skips a test, with the reason, if it cannot start servers in containers: no daemon answers, or the image built from Debian's
// packages is missing. With ZKBENCH_REQUIRE_DOCKER=1 the test fails instead. It sets ZK_IMAGE to that image.
func NeedDocker(t testing.TB) {
	t.Helper()
	out, err := exec.Command("docker", "image", "inspect", "--format", "{{.Id}}", compose.BuiltImage).CombinedOutput()
	if err == nil {
		os.Setenv("ZK_IMAGE", compose.BuiltImage) // not t.Setenv: tests with containers run in parallel
		return
	}
	said := strings.TrimSpace(string(out))
	if said == "" {
		said = err.Error()
	}
	if os.Getenv("ZKBENCH_REQUIRE_DOCKER") == "1" {
		t.Fatalf("ZKBENCH_REQUIRE_DOCKER is set, and no servers can be started in containers: %s; make image builds %s", said, compose.BuiltImage)
	}
	t.Skipf("no servers can be started in containers here: %s", said)
}
