package zklog

import (
	"errors"
	"fmt"
)

// What may be wrong with a file. A Problem wraps one of them.
var (
	ErrTorn    = errors.New("the last transaction is incomplete")   // the server, or the copy of its file, ended while it was being written
	ErrCut     = errors.New("the file ends too early")              // of a snapshot
	ErrCorrupt = errors.New("the bytes are not what was written")   // a checksum or a length is wrong
	ErrFormat  = errors.New("the format is not one of ZooKeeper's") // of the file, or of one transaction: a newer version may have written it
)

// Problem says what is wrong with a file, and where.
type Problem struct {
	File   string
	Offset int64 // bytes from the start of the file; of a compressed snapshot: from the start of its content
	Detail string
	Err    error // ErrTorn, ErrCut, ErrCorrupt, ErrFormat, or what the system said
}

// Error returns file, offset and what is wrong.
func (p *Problem) Error() string {
	text := fmt.Sprintf("%s: at byte %d: %v", p.File, p.Offset, p.Err)
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	return text
}

// Unwrap returns the kind of the problem.
func (p *Problem) Unwrap() error { return p.Err }
