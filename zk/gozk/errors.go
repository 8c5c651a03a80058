package gozk

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	lib "github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/zk"
)

// fate says what became of a request that the library answered with an error.
type fate int

const (
	answered fate = iota // the server has answered, or the library refused to send the request
	unsent               // never written to a socket
	lost                 // its connection broke: it may have been carried out
)

// translate converts an error of the library to one of package zk.
func translate(err error) (fate, error) {
	switch {
	case err == nil:
		return answered, nil
	case errors.Is(err, lib.ErrNoServer):
		return unsent, zk.ErrNotSent
	case errors.Is(err, lib.ErrConnectionClosed), errors.Is(err, lib.ErrClosing):
		return lost, zk.ErrMaybeApplied
	case errors.Is(err, lib.ErrInvalidPath), errors.Is(err, lib.ErrInvalidFlags):
		return answered, fmt.Errorf("%w: %w", zk.ErrBadArguments, err)
	}
	for _, known := range codes {
		if errors.Is(err, known.err) {
			return answered, zk.FromCode(known.code)
		}
	}
	if code, ok := unknownCode(err); ok {
		return answered, zk.FromCode(code)
	}
	return lost, fmt.Errorf("%w: %w", zk.ErrMaybeApplied, err) // including a net.Error of a failed write
}

// codes are the errors that the library makes from error codes of the wire protocol.
var codes = []struct {
	err  error
	code int32
}{
	{lib.ErrNoNode, -101}, {lib.ErrNodeExists, -110}, {lib.ErrBadVersion, -103}, {lib.ErrNotEmpty, -111},
	{lib.ErrNoAuth, -102}, {lib.ErrInvalidACL, -114}, {lib.ErrNoChildrenForEphemerals, -108}, {lib.ErrBadArguments, -8},
	{lib.ErrSessionExpired, -112}, {lib.ErrAuthFailed, -115}, {lib.ErrAPIError, -100}, {lib.ErrNothing, -117},
	{lib.ErrSessionMoved, -118}, {lib.ErrReconfigDisabled, -123},
}

// unknownCode parses the number in the message that the library makes for a code it does not know.
func unknownCode(err error) (int32, bool) {
	text, ok := strings.CutPrefix(err.Error(), "unknown error: ")
	if !ok {
		return 0, false
	}
	code, err := strconv.ParseInt(text, 10, 32)
	return int32(code), err == nil
}
