package zk

import (
	"errors"
	"testing"
)

// The first and the last character of each range that servers refuse, and their neighbours.
func TestTheCharactersOfAPath(t *testing.T) {
	for r, fine := range map[rune]bool{
		0x1f: false, 0x20: true, 0x7e: true, 0x7f: false, 0x80: false, 0x9f: false, 0xa0: true, 0xd7ff: true, 0xe000: false, 0xf8ff: false,
		0xf900: true, 0xffef: true, 0xfff0: false, 0xffff: false, 0x10000: false,
	} {
		for _, path := range []string{"/a" + string(r), "/ä" + string(r) + "/b"} {
			if err := CheckPath(path); (err == nil) != fine {
				t.Errorf("CheckPath(%q) = %v, want nil: %v", path, err, fine)
			}
		}
	}
	for _, path := range []string{"/", "/a", "/a/b", "/a.b/..c/...", "/é/日本"} {
		if err := CheckPath(path); err != nil {
			t.Errorf("CheckPath(%q) = %v, want nil", path, err)
		}
	}
	for _, path := range []string{"", "a", "/a/", "//", "/a//b", "/.", "/./a", "/a/..", "/ä/", "/ä//a", "/ä/./b", "/\xff", "/a\xff", "/a\x00"} {
		if err := CheckPath(path); !errors.Is(err, ErrBadArguments) {
			t.Errorf("CheckPath(%q) = %v, want ErrBadArguments", path, err)
		}
	}
}

func TestTheModesOfACreate(t *testing.T) {
	for mode, fine := range map[Mode]bool{Persistent - 1: false, Persistent: true, Container: true, Container + 1: false} {
		if err := CheckCreate("/a", mode); (err == nil) != fine {
			t.Errorf("CheckCreate(/a, %d) = %v, want nil: %v", mode, err, fine)
		}
	}
	for mode, fine := range map[Mode]bool{Persistent: false, PersistentSequential: true, EphemeralSequential: true, Ephemeral: false} {
		if err := CheckCreate("/a/", mode); (err == nil) != fine {
			t.Errorf("CheckCreate(/a/, %d) = %v, want nil: %v", mode, err, fine)
		}
	}
}

func TestWithin(t *testing.T) {
	b := &bound{dir: "/run/"}
	for path, fine := range map[string]bool{"/run/a": true, "/run/a/b": true, "/run/": false, "/run": false, "/runs/a": false, "/": false, "/other": false} {
		if err := b.check(KindDelete, path); (err == nil) != fine {
			t.Errorf("delete of %s: %v, want nil: %v", path, err, fine)
		}
	}
	if err := b.check(KindCreate, "/run/"); err != nil {
		t.Errorf("create of a sequential child without a prefix: %v", err)
	}
}
