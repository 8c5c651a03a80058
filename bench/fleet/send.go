package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/zk"
)

// A znode holds one piece of the data, after a byte that says whether more pieces follow.
const (
	piece = 512 << 10 // servers take 1 MiB by default
	more  = '+'
	last  = '.'
)

// While returns a context that ends with ctx, or when the shares can no longer wait for each other. The caller calls end.
func (m *Meeting) While(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-m.broken:
		case <-over:
		}
		cancel()
	}()
	return ctx, func() {
		close(over)
		<-watching
	}
}

// failure returns why an action that needs the other shares failed.
func (m *Meeting) failure(err error) error {
	if why := m.Err(); err != nil && why != nil {
		return why
	}
	if err != nil && m.s.Err() != nil {
		return m.breakOff(ErrCoordinator)
	}
	return err
}

// Send stores data for other shares at a place of the meeting, once; Receive reads it there. The errors are those of Await.
func (m *Meeting) Send(ctx context.Context, data []byte, at ...any) error {
	if err := m.Err(); err != nil {
		return err
	}
	ctx, end := m.While(ctx)
	defer end()
	for k := 1; ; k++ {
		n, kind := min(len(data), piece), byte(more)
		if n == len(data) {
			kind = last
		}
		if err := m.leave(ctx, pieceOf(m.at(at...), k), append([]byte{kind}, data[:n]...)); err != nil {
			return m.failure(err)
		}
		if data = data[n:]; kind == last {
			return nil
		}
	}
}

// Receive waits for the data that a share sends to a place, and returns it.
func (m *Meeting) Receive(ctx context.Context, at ...any) (data []byte, err error) {
	ctx, end := m.While(ctx)
	defer end()
	for k := 1; ; k++ {
		text, err := m.await(ctx, pieceOf(m.at(at...), k))
		if err != nil {
			return nil, m.failure(err)
		}
		if len(text) == 0 {
			return nil, fmt.Errorf("%s: not sent by zkbench", pieceOf(m.at(at...), k))
		}
		if data = append(data, text[1:]...); text[0] == last {
			return data, nil
		}
	}
}

func pieceOf(path string, k int) string { return fmt.Sprintf("%s-%d", path, k) }

// leave creates a znode and, if they are missing, its parents.
func (m *Meeting) leave(ctx context.Context, path string, data []byte) error {
	wait := time.Duration(0)
	for maybe := false; ; wait = min(2*wait+10*time.Millisecond, time.Second) {
		if err := sleep.For(ctx, wait); err != nil {
			return err
		}
		_, err := m.s.Create(ctx, path, data, zk.Persistent)
		switch {
		case err == nil, maybe && errors.Is(err, zk.ErrNodeExists): // the reply was lost
			return nil
		case ctx.Err() != nil:
			return err
		case errors.Is(err, zk.ErrNoNode):
			for _, parent := range ancestors(path) {
				if _, err := m.s.Create(ctx, parent, nil, zk.Persistent); err != nil && !errors.Is(err, zk.ErrNodeExists) && zk.Classify(err) != zk.ClassMaybeApplied {
					return err
				}
			}
		case zk.Classify(err) == zk.ClassMaybeApplied:
			maybe = true
		default:
			return err
		}
	}
}

// await waits for a znode and returns its data.
func (m *Meeting) await(ctx context.Context, path string) ([]byte, error) {
	for {
		_, there, w, err := m.s.ExistsW(ctx, path)
		if err != nil {
			return nil, err
		}
		if !there {
			select {
			case <-w.C():
			case <-m.s.Done():
			case <-ctx.Done():
			}
		}
		w.Stop()
		if there {
			data, _, err := m.s.Get(ctx, path)
			return data, err
		}
	}
}

// Forget removes what is at a place and below it, and the pieces that were sent to it. Anything that remains because the coordinator does not answer is
// small, or in a path that is never reused.
func (m *Meeting) Forget(ctx context.Context, at ...any) {
	ctx, cancel := context.WithTimeout(ctx, farewellTimeout)
	defer cancel()
	path := m.at(at...)
	parent := path[:strings.LastIndexByte(path, '/')]
	names, _, err := m.s.Children(ctx, parent)
	if err != nil {
		return
	}
	for _, name := range names {
		if child := parent + "/" + name; child == path || strings.HasPrefix(child, path+"-") {
			m.remove(ctx, child)
		}
	}
}

func (m *Meeting) remove(ctx context.Context, path string) {
	names, _, err := m.s.Children(ctx, path)
	if err != nil {
		return
	}
	for _, name := range names {
		m.remove(ctx, path+"/"+name)
	}
	_ = m.s.Delete(ctx, path, zk.AnyVersion)
}
