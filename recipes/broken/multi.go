package broken

import (
	"context"
	"errors"
	"slices"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// multi is several of the right locks together, cut into steps: a defect is one step replaced.
type multi struct {
	s    zk.Session
	dir  string
	held []*queue
	multiSteps
}

type multiSteps struct {
	// order is that in which locks are acquired.
	order func(names []string) []string
	// token is what the holder is given, of what its znodes have.
	token func(own, first int64) int64
	// leave gives back what an acquisition that failed had.
	leave func(ctx context.Context, held []*queue)
	// release ends the hold.
	release func(ctx context.Context, held []*queue) error
}

func rightMulti() multiSteps {
	return multiSteps{
		order:   func(names []string) []string { return slices.Sorted(slices.Values(names)) },
		token:   func(own, _ int64) int64 { return own },
		leave:   func(ctx context.Context, held []*queue) { releaseAll(ctx, held) },
		release: releaseAll,
	}
}

func releaseAll(ctx context.Context, held []*queue) error {
	var faults []error
	for _, q := range held {
		faults = append(faults, q.Release(ctx))
	}
	return errors.Join(faults...)
}

// Acquire is described at recipes.MultiLock, less the defect; no name may come twice.
func (m *multi) Acquire(ctx context.Context, names ...string) ([]recipes.Grant, error) {
	if len(m.held) > 0 {
		return nil, recipes.ErrHeld
	}
	got := map[string]recipes.Grant{}
	for _, name := range m.order(names) {
		q := &queue{s: m.s, dir: m.dir + "/" + name, steps: right()}
		g, err := q.Acquire(ctx)
		if err != nil {
			m.leave(ctx, m.held)
			m.held = nil
			return nil, err
		}
		m.held, got[name] = append(m.held, q), g
	}
	grants := make([]recipes.Grant, len(names))
	for i, name := range names {
		grants[i] = got[name]
		grants[i].Token = m.token(got[name].Token, got[names[0]].Token)
	}
	return grants, nil
}

// Release is described at recipes.MultiLock, less the defect.
func (m *multi) Release(ctx context.Context) error {
	held := m.held
	m.held = nil
	return m.release(ctx, held)
}

func together(caught, name, doc string, fault func(*multiSteps)) Defect[recipes.MultiLock] {
	return Defect[recipes.MultiLock]{Caught: caught, Variant: recipes.Variant[recipes.MultiLock]{
		Name: "broken-" + name, Source: "a test", Doc: doc, Tokens: caught != exclusion, Unsafe: true,
		New: func(s zk.Session, path string, _ recipes.Options) recipes.MultiLock {
			m := &multi{s: s, dir: path, multiSteps: rightMulti()}
			fault(&m.multiSteps)
			return m
		}}}
}

// MultiLocks is the locks that are acquired together, with a defect.
var MultiLocks = []Defect[recipes.MultiLock]{
	together(liveness, "unsorted", "acquires the locks in the order that it is given, as Curator's InterProcessMultiLock does", func(s *multiSteps) {
		s.order = func(names []string) []string { return names }
	}),
	together(liveness, "keeps-some", "keeps what it has when it gives up", func(s *multiSteps) {
		s.leave = func(context.Context, []*queue) {}
	}),
	together(liveness, "stops-releasing", "stops to release at the first lock that was lost", func(s *multiSteps) {
		s.release = func(ctx context.Context, held []*queue) error {
			for _, q := range held {
				if err := q.Release(ctx); err != nil {
					return err
				}
			}
			return nil
		}
	}),
	together(exclusion, "first-only", "acquires the first and says that it has them all", func(s *multiSteps) {
		s.order = func(names []string) []string { return slices.Sorted(slices.Values(names))[:1] }
	}),
	together(tokenOrder, "one-token", "gives all locks the token of one", func(s *multiSteps) {
		s.token = func(_, first int64) int64 { return first }
	}),
}
