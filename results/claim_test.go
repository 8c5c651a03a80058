package results

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// If runs choose the same directory at once, exactly one of them gets it, complete, even while others give up theirs.
func TestWhoClaimsTheDirectoryOwnsIt(t *testing.T) {
	for range 200 {
		path := filepath.Join(t.TempDir(), "a", "b")
		var wait sync.WaitGroup
		dirs, errs := make([]*Dir, 4), make([]error, 4)
		for i := range dirs {
			wait.Go(func() {
				if dirs[i], errs[i] = Create(path, []byte("profile")); i == 0 && errs[i] == nil {
					dirs[i].Discard()
				}
			})
		}
		wait.Wait()
		owners := 0
		for i, d := range dirs {
			switch {
			case errs[i] != nil && !errors.Is(errs[i], ErrExists):
				t.Fatal(errs[i])
			case errs[i] != nil || i == 0:
				continue
			}
			owners++
			if err := d.Write(&Run{}); err != nil {
				t.Error(err)
			}
			d.Close()
			for _, name := range []string{RunFile, IntervalsFile, TimelineFile, ProfileFile} {
				if _, err := os.Stat(filepath.Join(path, name)); err != nil {
					t.Error(err)
				}
			}
		}
		if owners > 1 || owners == 0 && errs[0] != nil {
			t.Fatalf("%d runs own the directory: %v", owners, errs)
		}
	}
}

// A user's dangling link is an obstacle just like a file.
func TestADanglingLinkIsNotReplaced(t *testing.T) {
	for _, name := range []string{RunFile, IntervalsFile, TimelineFile, ProfileFile} {
		link := filepath.Join(t.TempDir(), name)
		if err := os.Symlink("/nowhere", link); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(filepath.Dir(link), nil); !errors.Is(err, ErrExists) {
			t.Errorf("Create beside the link %s: %v, want ErrExists", name, err)
		}
		if to, err := os.Readlink(link); to != "/nowhere" {
			t.Errorf("%s links to %q (%v), want it untouched", name, to, err)
		}
	}
}
