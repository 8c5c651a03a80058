package bench

import (
	"os"
	"testing"
)

// The probe leaves nothing behind, and the time is not known if there is no directory.
func TestFsyncTime(t *testing.T) {
	dir := t.TempDir()
	if ms := fsyncTime(dir); ms == nil || *ms <= 0 {
		t.Errorf("fsyncTime = %v, want a time", ms)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the probe leaves %v, %v", left, err)
	}
	for _, none := range []string{"", "the containers of x", dir + "/none"} {
		if ms := fsyncTime(none); ms != nil {
			t.Errorf("fsyncTime(%q) = %v, want nil", none, *ms)
		}
	}
}
