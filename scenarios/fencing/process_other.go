//go:build !unix

package fencing

import (
	"context"
	"errors"
)

// Process always fails: it needs SIGSTOP, which only Unix has.
func Process(context.Context, string, ...string) (Client, error) {
	return nil, errors.New("a process cannot be paused on this system")
}
