package background

import "sync"

// Work counts running functions. The zero value is ready to use. It is safe for concurrent use.
type Work struct {
	mu      sync.Mutex
	running int
	idle    sync.Cond
	over    bool
}

// Go runs f in its own goroutine; a Wait in progress waits for it too. Once Wait has returned, Go runs f synchronously instead, so that nothing starts that nobody waits for.
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

// Wait returns when no function is running. It may be called more than once.
func (w *Work) Wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idle.L = &w.mu
	for w.running > 0 {
		w.idle.Wait()
	}
	w.over = true
}
