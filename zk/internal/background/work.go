package background

import "sync"

// Work counts the functions that run. The zero value is ready for use, from many goroutines.
type Work struct {
	mu      sync.Mutex
	running int
	idle    sync.Cond
	over    bool
}

// Go runs f in a goroutine of its own, also while Wait waits: then it is waited for too. After Wait it runs f before it returns, so that
// nothing begins that nobody waits for.
func (w *Work) Go(f func()) {
	w.mu.Lock()
	if w.over {
		w.mu.Unlock()
		f()
		return
	}
	w.running++
	w.mu.Unlock()
	go func() {
		defer w.done()
		f()
	}()
}

func (w *Work) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running--; w.running == 0 {
		w.idle.Broadcast()
	}
}

// Wait returns when no function runs. It may be called more than once.
func (w *Work) Wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle.L = &w.mu
	for w.running > 0 {
		w.idle.Wait()
	}
	w.over = true
}
