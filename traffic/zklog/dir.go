package zklog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// File is a transaction log or a snapshot.
type File struct {
	Path string
	Zxid int64 // in its name: of a log, that of its first transaction; of a snapshot, that of the last one that is surely in it
	Size int64 // bytes
}

// Files are those of one member, in the order of their zxids.
type Files struct{ Logs, Snapshots []File }

// Find lists the files in the directories and in their subdirectories version-2, where servers put them (dataDir and dataLogDir of one member). Only
// regular files count, and links to such.
func Find(dirs ...string) (Files, error) {
	var all Files
	for _, dir := range dirs {
		if _, err := os.ReadDir(dir); err != nil {
			return Files{}, err
		}
		for _, place := range []string{dir, filepath.Join(dir, "version-2")} {
			if err := all.add(place); err != nil && !errors.Is(err, os.ErrNotExist) {
				return Files{}, err
			}
		}
	}
	if len(all.Logs)+len(all.Snapshots) == 0 {
		return Files{}, fmt.Errorf("%s: no files log.ZXID or snapshot.ZXID, here or in version-2 (expected dataDir or dataLogDir of a ZooKeeper server)", strings.Join(dirs, ", "))
	}
	for _, list := range []*[]File{&all.Logs, &all.Snapshots} {
		slices.SortStableFunc(*list, func(a, b File) int {
			return cmp.Or(cmp.Compare(a.Zxid, b.Zxid), strings.Compare(a.Path, b.Path))
		})
	}
	return all, nil
}

func (f *Files) add(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		kind, rest, _ := strings.Cut(e.Name(), ".")
		number, extension, compressed := strings.Cut(rest, ".")
		zxid, err := strconv.ParseInt(number, 16, 64)
		snapshot := kind == "snapshot" && (!compressed || extension == "gz" || extension == "snappy")
		if err != nil || !snapshot && (kind != "log" || compressed) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		file := File{path, zxid, info.Size()}
		if snapshot {
			f.Snapshots = append(f.Snapshots, file)
		} else {
			f.Logs = append(f.Logs, file)
		}
	}
	return nil
}

// Gap is a number of consecutive transactions that no file has.
type Gap struct {
	After, Before int64 // zxids of the transactions on both sides
	File          string
}

// Missing returns how many transactions there were at least: of a gap that reaches into a new epoch, the end of the old one is unknown.
func (g Gap) Missing() int64 {
	if epoch(g.After) == epoch(g.Before) {
		return g.Before - g.After - 1
	}
	return counter(g.Before) - 1
}

// String says which transactions are missing.
func (g Gap) String() string {
	return fmt.Sprintf("%s: transactions between 0x%x and 0x%x are missing (at least %d)", g.File, g.After, g.Before, g.Missing())
}

func epoch(zxid int64) int64   { return zxid >> 32 }
func counter(zxid int64) int64 { return zxid & 0xffffffff }

const mostListed = 100 // of problems and gaps

// Coverage says what the logs had, and what they lacked.
type Coverage struct {
	Logs           int   // files that were read
	Bytes          int64 // of all transactions
	Transactions   int64
	First, Last    int64 // zxids
	Digests        int64 // transactions with the servers' digest
	Repeated       int64 // transactions whose zxid was not above the one before: they are left out
	Gaps           []Gap // the first hundred
	GapCount       int
	Missing        int64      // transactions in the gaps, at least
	Problems       []*Problem // the first hundred
	ProblemCount   int
	UnknownRecords int64 // transactions of which only the header could be read
}

// Logs reads the transactions of several logs, one after the other. It is not safe for concurrent use.
type Logs struct {
	files    []File
	open     *os.File
	log      *Log
	coverage Coverage
}

// ReadLogs returns a reader of the files, which are in the order of their zxids. It opens one at a time; Close closes it.
func ReadLogs(files []File) *Logs { return &Logs{files: files} }

// Coverage returns what has been read so far.
func (l *Logs) Coverage() Coverage { return l.coverage }

// Close closes the open file.
func (l *Logs) Close() {
	if l.open != nil {
		l.open.Close()
	}
	l.open, l.log, l.files = nil, nil, nil
}

// Next returns the next transaction, which is valid until the next call; nil at the end. What is wrong with a file is noted in the Coverage, and the reader
// goes on behind it: with the next transaction where its place is known, otherwise with the next file. A transaction whose record could not be
// read has only its header.
func (l *Logs) Next() *Txn {
	for {
		if l.log == nil && !l.nextFile() {
			return nil
		}
		t, err := l.log.Next()
		if err != nil && err != io.EOF {
			l.note(err)
		}
		if t == nil {
			if err == io.EOF {
				l.open.Close()
				l.open, l.log = nil, nil
			}
			continue
		}
		if l.counts(t, err != nil) {
			return t
		}
	}
}

// nextFile opens the next file that can be read.
func (l *Logs) nextFile() bool {
	for len(l.files) > 0 {
		f := l.files[0]
		l.files = l.files[1:]
		open, err := os.Open(f.Path)
		if err != nil {
			l.note(&Problem{f.Path, 0, "", err})
			continue
		}
		log, err := NewLog(open, f.Path)
		if err != nil {
			open.Close()
			if f.Size == 0 {
				err = &Problem{f.Path, 0, "the file is empty", ErrTorn}
			}
			l.note(err)
			continue
		}
		l.open, l.log = open, log
		l.coverage.Logs++
		return true
	}
	return false
}

func (l *Logs) note(err error) {
	var p *Problem
	if !errors.As(err, &p) {
		p = &Problem{Err: err}
	}
	if l.coverage.ProblemCount++; len(l.coverage.Problems) < mostListed {
		l.coverage.Problems = append(l.coverage.Problems, p)
	}
}

// counts adds a transaction to the coverage; false: it has been there before.
func (l *Logs) counts(t *Txn, unread bool) bool {
	c := &l.coverage
	if c.Transactions > 0 && t.Zxid <= c.Last {
		c.Repeated++
		return false
	}
	if follows := t.Zxid == c.Last+1 || epoch(t.Zxid) > epoch(c.Last) && counter(t.Zxid) == 1; c.Transactions > 0 && !follows {
		g := Gap{After: c.Last, Before: t.Zxid, File: l.log.name}
		if c.GapCount++; len(c.Gaps) < mostListed {
			c.Gaps = append(c.Gaps, g)
		}
		c.Missing += g.Missing()
	}
	if c.Transactions == 0 {
		c.First = t.Zxid
	}
	c.Last = t.Zxid
	c.Transactions++
	c.Bytes += int64(t.Bytes)
	if t.Digest {
		c.Digests++
	}
	if unread {
		c.UnknownRecords++
	}
	return true
}
