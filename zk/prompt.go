package zk

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrNoAnswer: a session of [Prompt] had a request that was not answered in time. The session is no longer usable.
var ErrNoAnswer = errors.New("no answer")

// Prompt returns a session that ends if a request is not answered within a time: the request, every later one and Err then return ErrNoAnswer with
// what is known about the connection. Without it a request waits for as long as the session may live, which is forever if the peer is not a ZooKeeper
// server and never says that the session has expired. The underlying session is not closed.
func Prompt(s Session, within time.Duration) Session { return &prompt{Session: s, within: within} }

// TroubleOf returns why a session last lost its connection or could not get one; nil if neither has happened, or if the engine does not report it.
func TroubleOf(s Session) error {
	if w, wrapped := s.(wrapper); wrapped {
		return TroubleOf(w.Unwrap())
	}
	if notify, ok := s.(interface{ Trouble() error }); ok {
		return notify.Trouble()
	}
	return nil
}

type prompt struct {
	Session
	within time.Duration

	mu  sync.Mutex
	err error
}

// Unwrap returns the session below, for optional powers such as persistent watches.
func (p *prompt) Unwrap() Session { return p.Session }

func (p *prompt) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	return p.Session.Err()
}

// ask makes one request.
func ask[T any](ctx context.Context, p *prompt, request func(ctx context.Context) (T, error)) (T, error) {
	if err := p.Err(); err != nil {
		var none T
		return none, err
	}
	bounded, cancel := context.WithTimeout(ctx, p.within)
	defer cancel()
	got, err := request(bounded)
	if err == nil || ctx.Err() != nil || bounded.Err() == nil {
		return got, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = fmt.Errorf("%w within %v", ErrNoAnswer, p.within)
		if trouble := TroubleOf(p.Session); trouble != nil {
			p.err = fmt.Errorf("%w: %w", p.err, trouble)
		}
	}
	return got, p.err
}

func (p *prompt) Create(ctx context.Context, path string, data []byte, mode Mode) (Created, error) {
	return ask(ctx, p, func(ctx context.Context) (Created, error) { return p.Session.Create(ctx, path, data, mode) })
}

func (p *prompt) Delete(ctx context.Context, path string, version int32) error {
	_, err := ask(ctx, p, func(ctx context.Context) (struct{}, error) { return struct{}{}, p.Session.Delete(ctx, path, version) })
	return err
}

func (p *prompt) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	return ask(ctx, p, func(ctx context.Context) (Stat, error) { return p.Session.Set(ctx, path, data, version) })
}

func (p *prompt) Get(ctx context.Context, path string) (data []byte, st Stat, err error) {
	data, err = ask(ctx, p, func(ctx context.Context) (data []byte, err error) { data, st, err = p.Session.Get(ctx, path); return })
	return data, st, err
}

func (p *prompt) Exists(ctx context.Context, path string) (st Stat, there bool, err error) {
	st, err = ask(ctx, p, func(ctx context.Context) (st Stat, err error) { st, there, err = p.Session.Exists(ctx, path); return })
	return st, there, err
}

func (p *prompt) Children(ctx context.Context, path string) (names []string, st Stat, err error) {
	names, err = ask(ctx, p, func(ctx context.Context) (names []string, err error) {
		names, st, err = p.Session.Children(ctx, path)
		return
	})
	return names, st, err
}

func (p *prompt) GetW(ctx context.Context, path string) (data []byte, st Stat, w *Watch, err error) {
	data, err = ask(ctx, p, func(ctx context.Context) (data []byte, err error) {
		data, st, w, err = p.Session.GetW(ctx, path)
		return
	})
	return data, st, w, err
}

func (p *prompt) ExistsW(ctx context.Context, path string) (st Stat, there bool, w *Watch, err error) {
	st, err = ask(ctx, p, func(ctx context.Context) (st Stat, err error) {
		st, there, w, err = p.Session.ExistsW(ctx, path)
		return
	})
	return st, there, w, err
}

func (p *prompt) ChildrenW(ctx context.Context, path string) (names []string, st Stat, w *Watch, err error) {
	names, err = ask(ctx, p, func(ctx context.Context) (names []string, err error) {
		names, st, w, err = p.Session.ChildrenW(ctx, path)
		return
	})
	return names, st, w, err
}

func (p *prompt) Multi(ctx context.Context, ops ...Op) ([]OpResult, error) {
	return ask(ctx, p, func(ctx context.Context) ([]OpResult, error) { return p.Session.Multi(ctx, ops...) })
}

func (p *prompt) Sync(ctx context.Context, path string) error {
	_, err := ask(ctx, p, func(ctx context.Context) (struct{}, error) { return struct{}{}, p.Session.Sync(ctx, path) })
	return err
}
