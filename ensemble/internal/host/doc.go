// Package host reads what this machine reports about its processes, their file locks, and its limits.
package host

import "errors"

// ErrLinuxOnly says that this system does not report it. On systems other than Linux, local servers end with Close, but not with a kill -9 of zkbench, and
// cannot be detached.
var ErrLinuxOnly = errors.New("works on Linux only")
