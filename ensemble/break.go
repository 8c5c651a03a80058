package ensemble

import (
	"context"
	"fmt"
	"net"
)

// one takes the server of this number for a break or a heal, which are made one at a time; release it after.
func (l *Local) one(number int) (s *server, release func(), err error) {
	if number < 1 || number > len(l.servers) {
		return nil, nil, fmt.Errorf("server %d: servers are numbered 1 to %d", number, len(l.servers))
	}
	l.breaking.Lock()
	if l.closed {
		l.breaking.Unlock()
		return nil, nil, fmt.Errorf("server %d: %w", number, ErrClosed)
	}
	return l.servers[number-1], l.breaking.Unlock, nil
}

// Kill ends a server with SIGKILL.
func (l *Local) Kill(ctx context.Context, number int) error { return l.bringDown(ctx, number, true) }

// Stop ends a server with SIGTERM. If ctx ends first, the server may still be on its way down.
func (l *Local) Stop(ctx context.Context, number int) error { return l.bringDown(ctx, number, false) }

func (l *Local) bringDown(ctx context.Context, number int, kill bool) error {
	s, release, err := l.one(number)
	if err != nil {
		return err
	}
	defer release()
	p := s.process.Load()
	if !p.running() {
		return fmt.Errorf("server %d: %w", number, ErrNotRunning)
	}
	s.down = true
	if kill {
		err = p.signal(signalKill)
	} else if err = p.signal(signalStop); err == nil {
		err = p.signal(signalResume) // a paused server hears SIGTERM only when it runs again
	}
	if err != nil {
		return fmt.Errorf("server %d: %w", number, err)
	}
	if err := p.ended(ctx); err != nil {
		return fmt.Errorf("server %d has not ended: %w", number, err)
	}
	return l.saveDetached()
}

// Restart starts a server that is down. It returns when the server accepts connections, which it does before it has found a
// quorum; Ready waits for more.
func (l *Local) Restart(ctx context.Context, number int) error {
	s, release, err := l.one(number)
	if err != nil {
		return err
	}
	defer release()
	if s.process.Load().running() {
		return fmt.Errorf("server %d: %w", number, ErrRunning)
	}
	if err := l.launch(s); err != nil {
		return err
	}
	if err := l.saveDetached(); err != nil {
		return err
	}
	p := s.process.Load()
	var dialer net.Dialer
	listening := func() bool {
		conn, err := dialer.DialContext(ctx, "tcp", s.address)
		if err == nil {
			conn.Close()
		}
		return err == nil || !p.running()
	}
	if err := poll(ctx, listening); err != nil {
		return s.explain(ErrNotReady, err)
	}
	if !p.running() {
		return s.explain(ErrNotReady, ErrServerEnded)
	}
	return nil
}

// Pause stops a server's process with SIGSTOP: its connections stay open and nothing answers.
func (l *Local) Pause(ctx context.Context, number int) error { return l.freeze(ctx, number, true) }

// Resume lets a paused server run on; one that runs already is left alone.
func (l *Local) Resume(ctx context.Context, number int) error { return l.freeze(ctx, number, false) }

func (l *Local) freeze(ctx context.Context, number int, pause bool) error {
	s, release, err := l.one(number)
	if err != nil {
		return err
	}
	defer release()
	p := s.process.Load()
	if !p.running() {
		return fmt.Errorf("server %d: %w", number, ErrNotRunning)
	}
	sig := signalResume
	if pause {
		sig = signalPause
	}
	if err := p.signal(sig); err != nil {
		return fmt.Errorf("server %d: %w", number, err)
	}
	if err := p.paused(ctx, pause); err != nil {
		return fmt.Errorf("server %d: %w", number, err)
	}
	return nil
}

// Leader asks the servers which of them leads. A server that runs alone leads itself.
func (l *Local) Leader(ctx context.Context) (int, error) { return leaderOf(l.Stats(ctx)) }

func leaderOf(all []ServerStats) (int, error) {
	var causes []error
	for _, s := range all {
		if s.Err == nil && (s.State == "leader" || s.State == "standalone") {
			return s.Server, nil
		}
		if s.Err != nil {
			causes = append(causes, s.Err)
		}
	}
	return 0, fmt.Errorf("no server leads: %w%s", ErrNoQuorum, listed(causes))
}
