package drivers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/metrics"
)

var (
	// ErrProtocol: the driver said something that the protocol does not have. It has been ended.
	ErrProtocol = errors.New("the driver breaks the protocol")
	// ErrEnded: the process of the driver is gone.
	ErrEnded = errors.New("the driver ended")
)

const (
	writeWithin = 10 * time.Second // a line fits the pipe of a driver that reads
	endWithin   = 5 * time.Second
	longestLine = 2 << 20 // an item of a million bytes in base64 fits
	longestTail = 2048
)

// Process is one process of a driver. Its methods may be called from many goroutines.
type Process struct {
	Hello Hello

	command []string
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the process is gone and err says why
	timing  sync.WaitGroup
	errors  tail

	write sync.Mutex
	in    *os.File

	work    sync.RWMutex  // held by what its applications do, and while it is stopped and goes on
	stopped chan struct{} // closed when it goes on; nil: it does

	mu        sync.Mutex
	calls     map[int64]*call // nil: nobody waits for the reply any more
	sessions  map[int64]*Session
	next      int64
	err       error     // why it was ended; nil: it was not
	died      time.Time // when it was killed, or was seen to have ended; zero: it lives
	closing   bool
	gone      bool // it has been waited for
	seam      *metrics.Histogram
	clock     clock
	holds     int64 // grants and claims that were given up
	suspended int64 // those of them that the driver had suspended or called lost
}

// call is a request under way.
type call struct {
	id    int64
	r     Request
	sent  time.Time
	reply chan Reply // with room for one
}

// Start starts a driver and asks it who it is. The error names the program.
func Start(ctx context.Context, command []string) (*Process, error) {
	p := &Process{command: command, cmd: exec.Command(command[0], command[1:]...), ended: make(chan struct{}),
		calls: map[int64]*call{}, sessions: map[int64]*Session{}, seam: metrics.NewHistogram()}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	p.in, p.cmd.Stdin, p.cmd.Stderr = ours, theirs, &p.errors
	p.cmd.WaitDelay = endWithin // for processes that it started, which hold its standard error open
	ownGroup(p.cmd)
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		ours.Close()
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("start driver %s: %w", p, err)
	}
	go p.read(out)
	if err := p.greet(ctx); err != nil {
		p.end(err)
		<-p.ended
		return nil, fmt.Errorf("driver %s: %w%s", p, err, p.errors.said())
	}
	return p, nil
}

func (p *Process) String() string { return strings.Join(p.command, " ") }

// send sends a request. A cancel has no reply.
func (p *Process) send(r Request) (*call, error) {
	p.mu.Lock()
	if p.closing || p.err != nil {
		p.mu.Unlock()
		return nil, p.why()
	}
	p.next++
	r.ID = p.next
	c := &call{id: r.ID, r: r, reply: make(chan Reply, 1)}
	if r.Op != OpCancel {
		p.calls[r.ID] = c
	}
	p.mu.Unlock()
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	p.write.Lock()
	defer p.write.Unlock()
	p.mu.Lock()
	c.sent = time.Now()
	p.mu.Unlock()
	p.in.SetWriteDeadline(c.sent.Add(writeWithin)) // where pipes have none, a driver that does not read holds up its sessions
	if _, err := p.in.Write(append(line, '\n')); errors.Is(err, os.ErrDeadlineExceeded) {
		p.end(fmt.Errorf("%w: it has not read its standard input for %v", ErrProtocol, writeWithin))
	}
	return c, nil // of a process that is gone the reader tells
}

// await waits for the reply of a request. The request goes on when the context ends before.
func (p *Process) await(ctx context.Context, c *call) (Reply, error) {
	select {
	case r := <-c.reply:
		return r, nil
	default:
	}
	select {
	case r := <-c.reply:
		return r, nil
	case <-p.ended:
		return Reply{}, p.why()
	case <-ctx.Done():
		return Reply{}, context.Cause(ctx)
	}
}

// abandon forgets a request: its reply, if there will be one, is nobody's.
func (p *Process) abandon(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, waits := p.calls[c.id]; waits {
		p.calls[c.id] = nil
	}
}

// read takes the lines of the driver until it ends, and tells all waiters.
func (p *Process) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		at := time.Now()
		if err := p.take(lines.Bytes(), at); err != nil {
			p.end(err)
			break
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		p.end(fmt.Errorf("%w: a line is longer than %d bytes", ErrProtocol, longestLine))
	}
	p.mu.Lock()
	wanted := p.closing
	p.dies()
	p.mu.Unlock()
	if !wanted { // without its standard output it is of no use
		killGroup(p.cmd)
	}
	err := p.cmd.Wait()
	p.in.Close()
	p.mu.Lock()
	p.gone = true
	if p.err == nil {
		p.err = ErrEnded
		if err != nil && !wanted {
			p.err = fmt.Errorf("%w: %v", ErrEnded, err)
		}
	}
	orphans := p.sessions
	p.sessions = nil
	p.mu.Unlock()
	close(p.ended)
	for _, s := range orphans {
		s.finish(fmt.Errorf("%w, its clients with it: %w", ErrEnded, errGone))
	}
}

// take takes a line.
func (p *Process) take(line []byte, at time.Time) error {
	var r Reply
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("%w: it sent %.100q, which is not a reply: %v", ErrProtocol, line, err)
	}
	p.mu.Lock()
	if r.Event != "" {
		s := p.sessions[r.Session]
		p.mu.Unlock()
		return s.event(r.Event) // of a session that is closed nobody cares
	}
	defer p.mu.Unlock()
	c, known := p.calls[r.ID]
	if !known {
		return fmt.Errorf("%w: it answers request %d, which was never sent or has already been answered", ErrProtocol, r.ID)
	}
	delete(p.calls, r.ID)
	if c == nil {
		return nil
	}
	switch c.r.Op {
	case OpHello:
		if err := p.heard(r, c.sent, at); err != nil {
			return err
		}
	case OpAcquire, OpTry, OpRelease, OpPut, OpTake, OpFinish:
		if err := p.clock.lie(r, c.sent, at); err != nil {
			return fmt.Errorf("%w: %s of request %d: %v; its clock and that of zkbench are known to agree within %v", ErrProtocol, c.r.Op, r.ID, err,
				p.clock.err(at.Sub(p.clock.base)))
		}
		p.seam.Record(at.Sub(c.sent) - time.Duration(r.End-r.Start))
	}
	c.reply <- r
	return nil
}

// end ends the process at once, for a reason.
func (p *Process) end(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = why
	}
	p.dies()
	if !p.gone { // its number may be another's by now
		killGroup(p.cmd)
	}
}

// dies notes that the process is dead from now on; the lock is held.
func (p *Process) dies() {
	if p.died.IsZero() {
		p.died = time.Now()
	}
}

// Kill ends the process at once and waits until it is gone: its sessions are those of a client that has crashed.
func (p *Process) Kill() {
	p.end(fmt.Errorf("%w: it was killed", ErrEnded))
	<-p.ended
	p.timing.Wait()
}

// Pause stops the process, when what its applications do has ended (Session.Work): it does nothing until Resume, and what is asked of it waits.
func (p *Process) Pause() error {
	p.work.Lock()
	defer p.work.Unlock()
	if p.stopped != nil {
		return errors.New("the process of the driver is stopped already")
	}
	err := p.signal(stopGroup)
	if err == nil {
		p.stopped = make(chan struct{})
	}
	return err
}

// Resume has it go on.
func (p *Process) Resume() error {
	p.work.Lock()
	defer p.work.Unlock()
	err := p.signal(continueGroup)
	if p.stopped != nil {
		close(p.stopped)
		p.stopped = nil
	}
	return err
}

func (p *Process) signal(send func(*exec.Cmd) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return ErrEnded
	}
	return send(p.cmd)
}

// why is why the process is gone, or is ending.
func (p *Process) why() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return ErrEnded
	}
	return p.err
}

// Close closes the standard input of the driver, waits for its end for a bounded time, and ends it. The error says that it had to be ended.
func (p *Process) Close() error {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	p.write.Lock()
	p.in.Close()
	p.write.Unlock()
	defer p.timing.Wait()
	select {
	case <-p.ended:
		return nil
	case <-time.After(endWithin):
	}
	p.end(ErrEnded)
	<-p.ended
	return fmt.Errorf("driver %s: it has not ended within %v after the end of its standard input", p, endWithin)
}

// Ended is closed when the process is gone.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// ClockBound is how far the offset between the clocks may have been from the true one when it was measured: the largest so far.
func (p *Process) ClockBound() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.clock.bound, p.clock.worst)
}

// Seam is what the way to the driver and back took, of its acquisitions, releases and what it did with items so far.
func (p *Process) Seam() *metrics.Histogram {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seam.Clone()
}

// tail keeps the last that was written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - longestTail; over > 0 {
		t.text = append([]byte(nil), t.text[over:]...)
	}
	return len(b), nil
}

// said is the tail for the end of an error.
func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.text) == 0 {
		return ""
	}
	return "\nits standard error ends: " + strings.TrimSpace(string(t.text))
}
