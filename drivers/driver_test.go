package drivers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/drivers"
	"github.com/zkbench/zkbench/drivers/serve"
)

// defectVariable makes the test binary a driver: a sound one, or one with a defect.
const defectVariable = "ZKBENCH_TEST_DRIVER"

func TestMain(m *testing.M) {
	if defect := strings.ReplaceAll(os.Getenv(defectVariable), "-", " "); defect != "" {
		if err := beDriver(defect); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// beDriver runs the null driver with one defect.
func beDriver(defect string) error {
	l := serve.InMemory()
	if strings.HasPrefix(defect, "claims") {
		l = serve.InMemoryClaims()
	}
	open := l.Open
	l.Open = func(ctx context.Context, o serve.Opening) (serve.Client, int64, error) {
		c, id, err := open(ctx, o)
		return defective{c.(whole), defect, o.Event}, id, err
	}
	switch defect {
	case "another protocol":
		fmt.Println(`{"id":1,"protocol":2,"name":"x","store":"memory","now":1,"can":["lock"]}`)
	case "not JSON":
		fmt.Println("Driver v1.0 is ready")
	case "no locks":
		l.Hello.Can = []string{"fly", drivers.CanTry}
	case "queues alone":
		l.Hello.Can = []string{drivers.CanQueue}
	case "semaphores alone":
		l.Hello.Can = []string{drivers.CanSemaphore}
	case "read write alone":
		l.Hello.Can = []string{drivers.CanReadWrite}
	case "dies at once":
		return errors.New("no license")
	}
	out := &spoiler{defect: defect, out: os.Stdout}
	err := serve.Run(os.Stdin, out, l)
	if defect == "goes on after its input" {
		time.Sleep(time.Hour)
	}
	return err
}

// whole is a client of a library that supports everything.
type whole interface {
	serve.Client
	serve.ReadWriter
	serve.Semaphore
	serve.Finisher
}

// defective breaks the promises of a library.
type defective struct {
	whole
	defect string
	event  func(string)
}

func (d defective) AcquireMode(ctx context.Context, path, mode string) (serve.Grant, error) {
	switch {
	case d.defect == "lets writers in beside readers" && mode == drivers.ModeWrite:
		mode = drivers.ModeRead
	case d.defect == "lets readers wait for readers":
		mode = drivers.ModeWrite
	}
	return d.whole.AcquireMode(ctx, path, mode)
}

func (d defective) AcquirePermit(ctx context.Context, path string, permits int) (serve.Grant, error) {
	switch d.defect {
	case "gives one permit too many":
		permits++
	case "gives one permit too few":
		permits--
	}
	return d.whole.AcquirePermit(ctx, path, permits)
}

func (d defective) ReleasePermit(ctx context.Context, path string, permits int) error {
	if d.defect == "loses permits" {
		return nil
	}
	return d.whole.ReleasePermit(ctx, path, permits)
}

// taken counts the items that were taken, of all sessions.
var taken atomic.Int64

func (d defective) Put(ctx context.Context, path string, item []byte) (string, error) {
	switch d.defect {
	case "dies with items":
		os.Exit(3)
	case "loses an item":
		if bytes.HasPrefix(item, []byte("item 3 ")) {
			return "3", nil
		}
	case "puts an item twice":
		if bytes.HasPrefix(item, []byte("item 3 ")) {
			defer d.whole.Put(ctx, path, item)
		}
	case "puts text":
		item = []byte(strings.ToValidUTF8(string(item), "?"))
	}
	return d.whole.Put(ctx, path, item)
}

func (d defective) Take(ctx context.Context, path string) (serve.Item, error) {
	switch d.defect {
	case "dies with items":
		os.Exit(3)
	case "answers a take at once":
		return serve.Item{}, nil
	case "ignores deadlines":
		ctx = context.WithoutCancel(ctx)
	case "swaps items":
		return d.swap(ctx, path)
	case "claims for good":
		it, err := d.whole.Take(ctx, path)
		if err == nil {
			err = d.whole.Finish(ctx, path)
		}
		return it, err
	case "claims for nobody":
		it, err := d.whole.Take(ctx, path)
		if err == nil {
			d.whole.Put(ctx, path, it.Data)
		}
		it.Node = ""
		return it, err
	}
	it, err := d.whole.Take(ctx, path)
	if d.defect == "hands an item out twice under load" {
		if n := taken.Add(1); err == nil && n == 20 {
			d.whole.Put(ctx, path, it.Data)
		}
		it.Node = "" // the second one has another, and may be answered first
	}
	if d.defect == "tells another node" && it.Node != "" {
		it.Node += "-other"
	}
	return it, err
}

// swap takes the second item if there is one.
func (d defective) swap(ctx context.Context, path string) (serve.Item, error) {
	first, err := d.whole.Take(ctx, path)
	if err != nil {
		return first, err
	}
	at, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	second, err := d.whole.Take(at, path)
	if err != nil {
		first.Node = "" // the item may have been put again
		return first, nil
	}
	d.whole.Put(ctx, path, first.Data)
	second.Node = ""
	return second, nil
}

func (d defective) Finish(ctx context.Context, path string) error {
	switch d.defect {
	case "dies with items":
		os.Exit(3)
	case "claims and finishes anything":
		d.whole.Finish(ctx, path)
		return nil
	}
	return d.whole.Finish(ctx, path)
}

func (d defective) ReleaseMode(ctx context.Context, path, mode string) error {
	if err := d.whole.ReleaseMode(ctx, path, mode); !errors.Is(err, serve.ErrNotHeld) || d.defect == "none" {
		return err
	}
	return d.whole.ReleaseMode(ctx, path, map[string]string{drivers.ModeRead: drivers.ModeWrite, drivers.ModeWrite: drivers.ModeRead}[mode]) // what it took instead
}

func (d defective) Acquire(ctx context.Context, path string) (serve.Grant, error) {
	switch d.defect {
	case "grants twice":
		return serve.Grant{Token: 1}, nil
	case "ignores deadlines":
		ctx = context.WithoutCancel(ctx)
	case "keeps what was given up":
		g, err := d.whole.Acquire(context.WithoutCancel(ctx), path)
		if ctx.Err() != nil {
			return serve.Grant{}, ctx.Err()
		}
		return g, err
	case "dies":
		os.Exit(3)
	case "suspends each grant":
		defer d.event(drivers.EventSuspended)
	case "loses its connection for a moment":
		d.event(drivers.EventSuspended)
		d.event(drivers.EventConnected)
	case "tells of a loss":
		defer fmt.Println(`{"event":"suspended","session":9}`)
	}
	return d.whole.Acquire(ctx, path)
}

func (d defective) Release(ctx context.Context, path string) error {
	if d.defect == "releases anything" {
		d.whole.Release(ctx, path)
		return nil
	}
	return d.whole.Release(ctx, path)
}

func (d defective) Close() error {
	if strings.HasSuffix(d.defect, "keeps locks of the closed") {
		return nil
	}
	return d.whole.Close()
}

// spoiler falsifies what a driver says about its acquisitions.
type spoiler struct {
	defect string
	out    *os.File
}

func (s *spoiler) Write(line []byte) (int, error) {
	var r drivers.Reply
	if err := json.Unmarshal(line, &r); err != nil || r.Start == 0 {
		return s.out.Write(line)
	}
	switch s.defect {
	case "never answers":
		return len(line), nil
	case "answers another request":
		r.ID += 1000
	case "answers twice":
		s.out.Write(line)
	case "clock ahead":
		r.Start, r.End = r.Start+int64(time.Minute), r.End+int64(time.Minute)
	case "clock behind":
		r.Start -= int64(time.Minute)
	case "clock backwards":
		r.Start, r.End = r.End+1, r.Start
	case "no clock":
		r.Start, r.End = 0, 0
	}
	line, _ = json.Marshal(r)
	s.out.Write(append(line, '\n'))
	return len(line), nil
}

// driver returns the command that runs this test binary as a driver.
func driver(t *testing.T, defect string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", defectVariable + "=" + strings.ReplaceAll(defect, " ", "-"), self}
}
