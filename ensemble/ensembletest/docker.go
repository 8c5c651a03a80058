package ensembletest

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
)

// Docker says whether a test can start servers in containers: a daemon answers, and the image built from Debian's packages is there. Where
// it cannot, the test says so and returns, except with ZKBENCH_REQUIRE_DOCKER=1, where it fails. ZK_IMAGE names the image until its end.
func Docker(t testing.TB) bool {
	t.Helper()
	out, err := exec.Command("docker", "image", "inspect", "--format", "{{.Id}}", ensemble.BuiltImage).CombinedOutput()
	if err == nil {
		t.Setenv("ZK_IMAGE", ensemble.BuiltImage)
		return true
	}
	said := strings.TrimSpace(string(out))
	if said == "" {
		said = err.Error()
	}
	if os.Getenv("ZKBENCH_REQUIRE_DOCKER") == "1" {
		t.Fatalf("ZKBENCH_REQUIRE_DOCKER is set, and no servers can be started in containers: %s; make image builds %s", said, ensemble.BuiltImage)
	}
	t.Logf("passed over, for no servers can be started in containers here: %s", said)
	return false
}
