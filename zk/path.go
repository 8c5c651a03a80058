package zk

import (
	"strings"
	"unicode/utf8"
)

// CheckPath returns nil for a path that a znode can have, ErrBadArguments for others: relative paths, empty names, '.' and '..', and characters that
// servers refuse (PathUtils.validatePath of Apache ZooKeeper). Some servers drop the connection over such a path.
func CheckPath(path string) error {
	if path == "/" {
		return nil
	}
	if path == "" || path[0] != '/' {
		return ErrBadArguments
	}
	name := 0 // where the current name starts
	for i := 1; i <= len(path); i++ {
		switch {
		case i == len(path) || path[i] == '/':
			switch path[name+1 : i] {
			case "", ".", "..":
				return ErrBadArguments
			}
			name = i
		case path[i] <= 0x1f || path[i] == 0x7f:
			return ErrBadArguments
		case path[i] >= utf8.RuneSelf:
			return checkWide(path)
		}
	}
	return nil
}

// checkWide is like CheckPath, for a path with characters beyond ASCII. The server counts in UTF-16, where everything beyond the basic plane is a pair of
// surrogates, which it refuses.
func checkWide(path string) error {
	if !utf8.ValidString(path) {
		return ErrBadArguments
	}
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 0x7f && r <= 0x9f, r >= 0xd800 && r <= 0xf8ff, r >= 0xfff0:
			return 0
		case r >= utf8.RuneSelf:
			return 'x'
		}
		return r
	}, path)
	return CheckPath(plain)
}

// CheckCreate is like CheckPath, for a create: the number that the server appends belongs to the path, so a sequential one may end
// in a slash.
func CheckCreate(path string, mode Mode) error {
	switch {
	case mode < Persistent || mode > Container:
		return ErrBadArguments
	case mode.Sequential() && strings.HasSuffix(path, "/"):
		return CheckPath(path + "1")
	}
	return CheckPath(path)
}
