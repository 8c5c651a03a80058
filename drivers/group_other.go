//go:build !unix

package drivers

import (
	"errors"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

// killGroup ends a process, if it exists.
func killGroup(c *exec.Cmd) { c.Process.Kill() }

func stopGroup(*exec.Cmd) error { return errors.ErrUnsupported }

func continueGroup(*exec.Cmd) error { return errors.ErrUnsupported }
