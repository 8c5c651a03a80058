//go:build !linux && !darwin

package spill

// Free returns how many bytes may be written to the file system of a directory: -1, because this system does not report it.
func Free(string) int64 { return -1 }
