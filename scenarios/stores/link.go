package stores

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// link is a proxied connection from one client to one Redis server. It can hold up commands by name, and all replies.
type link struct {
	listener net.Listener
	over     sync.WaitGroup

	mu      sync.Mutex
	server  string
	conns   map[net.Conn]bool // both ends of each connection
	closed  bool
	gate    *gate         // what commands wait at; nil: none
	replies chan struct{} // closed when replies may pass
}

// gate holds up commands of some names until it is opened.
type gate struct {
	names   []string
	reached chan struct{} // closed when the first command is waiting
	once    sync.Once
	open    chan struct{}
}

func newLink(server string) (*link, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	k := &link{listener: l, server: server, conns: map[net.Conn]bool{}, replies: make(chan struct{})}
	close(k.replies)
	k.over.Go(k.accept)
	return k, nil
}

func (k *link) address() string { return k.listener.Addr().String() }

func (k *link) accept() {
	for {
		c, err := k.listener.Accept()
		if err != nil {
			return
		}
		k.over.Go(func() { k.connect(c) })
	}
}

// connect forwards one connection.
func (k *link) connect(c net.Conn) {
	k.mu.Lock()
	server := k.server
	k.mu.Unlock()
	s, err := net.Dial("tcp", server)
	if err != nil {
		c.Close()
		return
	}
	k.mu.Lock()
	if k.closed || k.server != server {
		k.mu.Unlock()
		c.Close()
		s.Close()
		return
	}
	k.conns[c], k.conns[s] = true, true
	k.mu.Unlock()
	gone := make(chan struct{})
	var once sync.Once
	end := func() {
		once.Do(func() {
			close(gone)
			c.Close()
			s.Close()
			k.mu.Lock()
			defer k.mu.Unlock()
			delete(k.conns, c)
			delete(k.conns, s)
		})
	}
	var back sync.WaitGroup
	back.Go(func() {
		defer end()
		for buf := make([]byte, 16<<10); ; {
			n, err := s.Read(buf)
			if n > 0 && !k.reply(gone) {
				return
			}
			if _, failed := c.Write(buf[:n]); err != nil || failed != nil {
				return
			}
		}
	})
	for r := bufio.NewReader(c); ; {
		name, raw, err := command(r)
		if err != nil || !k.pass(name, gone) {
			break
		}
		if _, err := s.Write(raw); err != nil {
			break
		}
	}
	end()
	back.Wait()
}

// reply waits until replies may pass; it returns false if the connection is gone.
func (k *link) reply(gone <-chan struct{}) bool {
	k.mu.Lock()
	may := k.replies
	k.mu.Unlock()
	select {
	case <-may:
		return true
	case <-gone:
		return false
	}
}

// pass waits until a command of that name may pass; it returns false if the connection is gone.
func (k *link) pass(name string, gone <-chan struct{}) bool {
	k.mu.Lock()
	g := k.gate
	k.mu.Unlock()
	if g == nil || !slices.Contains(g.names, name) {
		return true
	}
	g.once.Do(func() { close(g.reached) })
	select {
	case <-g.open:
		return true
	case <-gone:
		return false
	}
}

// hold holds up commands of these names until the gate is opened.
func (k *link) hold(names ...string) *gate {
	g := &gate{names: names, reached: make(chan struct{}), open: make(chan struct{})}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gate = g
	return g
}

// holdReplies holds up everything the server says from now on, until the link is closed.
func (k *link) holdReplies() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.replies = make(chan struct{})
}

// lead connects to another server from now on, and closes connections to the previous one.
func (k *link) lead(server string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.server = server
	k.cut()
}

// cut closes all connections. The lock must be held.
func (k *link) cut() {
	for c := range k.conns {
		c.Close()
	}
}

// close closes the link. Commands that wait at its gate are dropped with their connections.
func (k *link) close() {
	k.listener.Close()
	k.mu.Lock()
	k.closed = true
	if k.gate != nil {
		select {
		case <-k.gate.open:
		default:
			close(k.gate.open)
		}
	}
	k.cut()
	k.mu.Unlock()
	k.over.Wait()
}

const longestBulk = 1 << 20

// command reads a command, which is an array of strings, and returns its name in capitals and all its bytes.
func command(r *bufio.Reader) (name string, raw []byte, err error) {
	var all bytes.Buffer
	length := func(kind byte) (int, error) {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return 0, err
		}
		all.Write(line)
		if line[0] != kind {
			return 0, fmt.Errorf("a command has %.20q, expected %q", line, kind)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(line[1:])))
		if err != nil || n < 0 || n > longestBulk {
			return 0, fmt.Errorf("a command has the length %.20q", line)
		}
		return n, nil
	}
	words, err := length('*')
	if err != nil {
		return "", nil, err
	}
	for i := range words {
		n, err := length('$')
		if err != nil {
			return "", nil, err
		}
		at := all.Len()
		if _, err := io.CopyN(&all, r, int64(n)+2); err != nil {
			return "", nil, err
		}
		if i == 0 {
			name = strings.ToUpper(string(all.Bytes()[at : at+n]))
		}
	}
	return name, all.Bytes(), nil
}
