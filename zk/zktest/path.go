package zktest

import (
	"strings"
	"unicode/utf8"

	"github.com/zkbench/zkbench/zk"
)

// checkPath does what PathUtils.validatePath of the Java server does: a path that fails here would be refused by every server.
func checkPath(path string) error {
	if path == "/" {
		return nil
	}
	if !strings.HasPrefix(path, "/") || !utf8.ValidString(path) {
		return zk.ErrBadArguments
	}
	for _, name := range strings.Split(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return zk.ErrBadArguments
		}
	}
	for _, r := range path {
		if badRune(r) {
			return zk.ErrBadArguments
		}
	}
	return nil
}

// badRune reports whether the server refuses a character. It counts in UTF-16, so everything beyond the basic plane is a pair
// of surrogates to it.
func badRune(r rune) bool {
	return r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0
}

// checkCreate is like checkPath, for a create: the number that the server appends belongs to the path, so a sequential create may
// end in a slash.
func checkCreate(path string, mode zk.Mode) error {
	switch mode {
	case zk.Persistent, zk.Ephemeral, zk.Container:
		return checkPath(path)
	case zk.PersistentSequential, zk.EphemeralSequential:
		return checkPath(path + "1")
	}
	return zk.ErrBadArguments
}

// parentOf splits a path; the parent of a child of the root is "/".
func parentOf(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 1)], path[i+1:]
}

// below reports whether path is root or lies under it.
func below(path, root string) bool {
	return root == "/" || path == root || strings.HasPrefix(path, root) && path[len(root)] == '/'
}
