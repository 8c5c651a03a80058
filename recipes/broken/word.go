package broken

import (
	"context"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// word is a lock in the data of one znode, unlike any of the product's recipes. Its defect: between reading 'free' and writing 'held' somebody else
// may have written, and without the version the servers do not notice.
type word struct {
	s    zk.Session
	path string
	held bool
}

const busy = "held"

var oneWord = func() Defect[recipes.Lock] {
	d := defective[recipes.Lock](exclusion, "no-version", "one word in one znode, read as 'free' and overwritten with 'held' without its version")
	d.Wakes = func(n int) (float64, float64) { return float64(n - 1), 0 }
	d.New = func(s zk.Session, path string, _ recipes.Options) recipes.Lock { return &word{s: s, path: path} }
	return d
}()

// Acquire waits until the word is 'free' and writes 'held'.
func (l *word) Acquire(ctx context.Context) (recipes.Grant, error) {
	if l.held {
		return recipes.Grant{}, recipes.ErrHeld
	}
	lease := l.s.Lease()
	for {
		data, _, w, err := l.s.GetW(ctx, l.path)
		if err != nil {
			return recipes.Grant{}, err
		}
		if string(data) != busy {
			w.Stop()
			st, err := l.s.Set(ctx, l.path, []byte(busy), zk.AnyVersion)
			l.held = err == nil
			return recipes.Grant{Path: l.path, Token: st.Mzxid, Lost: lease}, err
		}
		if err := event(ctx, w); err != nil {
			return recipes.Grant{}, err
		}
	}
}

// Release writes 'free'.
func (l *word) Release(ctx context.Context) error {
	if !l.held {
		return recipes.ErrNotHeld
	}
	l.held = false
	_, err := l.s.Set(ctx, l.path, nil, zk.AnyVersion)
	return err
}
