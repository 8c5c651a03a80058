//go:build linux || darwin

package spill

import "syscall"

// Free returns how many bytes may be written to the file system of a directory; -1 if the system does not report it.
func Free(dir string) int64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return -1
	}
	return int64(fs.Bavail) * int64(fs.Bsize)
}
