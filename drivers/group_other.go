//go:build !unix

package drivers

import "os/exec"

func ownGroup(*exec.Cmd) {}

// killGroup ends a process, if it is there.
func killGroup(c *exec.Cmd) { c.Process.Kill() }
