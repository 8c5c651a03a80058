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
	// ErrProtocol says that the driver violated the protocol. It has been ended.
	ErrProtocol = errors.New("the driver breaks the protocol")
	// ErrEnded says that the process of the driver is gone.
	ErrEnded = errors.New("the driver ended")
)

const (
	writeWithin = 10 * time.Second // a driver that reads accepts a line much faster
	endWithin   = 5 * time.Second
	longestLine = 2 << 20 // room for an item of a million bytes in base64
	longestTail = 2048
)

// Process is one process of a driver. Its methods may be called concurrently.
type Process struct {
	Hello Hello

	command []string
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the process is gone; err then says why
	timing  sync.WaitGroup
	errors  tail

	write sync.Mutex
	in    *os.File

	work    sync.RWMutex  // read-held by what its applications do; held while it is being stopped and resumed
	stopped chan struct{} // closed when it resumes; nil while it runs

	mu        sync.Mutex
	calls     map[int64]*call // a nil call is one whose reply nobody waits for
	sessions  map[int64]*Session
	next      int64
	err       error     // why it was ended; nil if it was not
	died      time.Time // when it was killed, or was seen to have ended; zero while it lives
	closing   bool
	gone      bool // it has been waited for
	seam      *metrics.Histogram
	clock     clock
	holds     int64 // grants and claims given up
	suspended int64 // those of them that the driver had suspended or called lost
}

// call is a request in flight.
type call struct {
	id    int64
	r     Request
	sent  time.Time
	reply chan Reply // buffered
}

// Start starts a driver and asks for its hello. Its error names the program.
func Start(ctx context.Context, command []string) (*Process, error) {
	p := &Process{command: command, cmd: exec.Command(command[0], command[1:]...), ended: make(chan struct{}),
		calls: map[int64]*call{}, sessions: map[int64]*Session{}, seam: metrics.NewHistogram()}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	p.in, p.cmd.Stdin, p.cmd.Stderr = ours, theirs, &p.errors
	p.cmd.WaitDelay = endWithin // child processes may keep its standard error open
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
	p.in.SetWriteDeadline(c.sent.Add(writeWithin)) // on systems without pipe deadlines, a driver that does not read blocks its sessions
	if _, err := p.in.Write(append(line, '\n')); errors.Is(err, os.ErrDeadlineExceeded) {
		p.end(fmt.Errorf("%w: it has not read its standard input for %v", ErrProtocol, writeWithin))
	}
	return c, nil // if the process is gone, the reader reports it
}

// await waits for the reply to a request. If the context ends first, the request continues.
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

// abandon forgets a request: a later reply is ignored.
func (p *Process) abandon(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, waits := p.calls[c.id]; waits {
		p.calls[c.id] = nil
	}
}

// read handles the lines of the driver until it ends, and notifies all waiters.
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
	if !wanted { // it is useless without standard output
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

// take handles a line.
func (p *Process) take(line []byte, at time.Time) error {
	var r Reply
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("%w: it sent %.100q, which is not a reply: %v", ErrProtocol, line, err)
	}
	p.mu.Lock()
	if r.Event != "" {
		s := p.sessions[r.Session]
		p.mu.Unlock()
		return s.event(r.Event) // an event of a closed session is ignored
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
	if !p.gone { // otherwise its pid may already belong to another process
		killGroup(p.cmd)
	}
}

// dies records that the process is dead from now on. The lock must be held.
func (p *Process) dies() {
	if p.died.IsZero() {
		p.died = time.Now()
	}
}

// Kill ends the process at once and waits until it is gone: its sessions then look like those of a client that crashed.
func (p *Process) Kill() {
	p.end(fmt.Errorf("%w: it was killed", ErrEnded))
	<-p.ended
	p.timing.Wait()
}

// Pause stops the process once the work of its applications has ended (Session.Work): it does nothing until Resume, and requests wait.
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

// Resume continues a paused process.
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

// why returns why the process is gone, or is ending.
func (p *Process) why() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return ErrEnded
	}
	return p.err
}

// Close closes the driver's standard input and waits a bounded time for it to end, then kills it. An error says that it had to be killed.
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

// Ended returns a channel that is closed when the process is gone.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// ClockBound returns the largest error that the measured offset between the clocks may have had so far.
func (p *Process) ClockBound() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.clock.bound, p.clock.worst)
}

// Seam returns the overhead of going through the driver, for its acquisitions, releases and queue operations so far.
func (p *Process) Seam() *metrics.Histogram {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seam.Clone()
}

// tail keeps the end of what was written to it.
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

// said returns the tail as the end of an error message.
func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.text) == 0 {
		return ""
	}
	return "\nits standard error ends: " + strings.TrimSpace(string(t.text))
}
