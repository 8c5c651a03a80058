package gozk

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	lib "github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/internal/sleep"
)

// The pause before a round of attempts that follows n failed rounds is 10 ms * 2^(n-1), at most 1 s, of which the seed decides
// the second half.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// hosts is the order in which the library tries the servers. The library calls it from its connecting goroutine.
type hosts struct {
	s       *Session
	servers []string
	rand    *rand.Rand
	next    int
	tries   int // since the last successful handshake
}

func newHosts(s *Session, servers []string, seed uint64) *hosts {
	h := &hosts{s: s, servers: slices.Clone(servers), rand: rand.New(rand.NewPCG(seed, 0))}
	h.rand.Shuffle(len(servers), func(i, j int) { h.servers[i], h.servers[j] = h.servers[j], h.servers[i] })
	return h
}

// Init ignores the library's list, which is shuffled without a seed.
func (h *hosts) Init([]string) error { return nil }

// Len is the number of servers.
func (h *hosts) Len() int { return len(h.servers) }

// Next is the next server. Its bool makes the library answer what waits to be sent with ErrNoServer, and sleep for a second or
// until it is closed: that is wanted only when the session is over.
func (h *hosts) Next() (string, bool) {
	server := h.servers[h.next]
	h.next = (h.next + 1) % len(h.servers)
	return server, h.s.Err() != nil
}

// Connected is called after each successful handshake.
func (h *hosts) Connected() { h.tries = 0 }

// pause is how long to wait before the next attempt: nothing within a round.
func (h *hosts) pause() time.Duration {
	rounds, within := h.tries/len(h.servers), h.tries%len(h.servers)
	h.tries++
	if within > 0 {
		return 0
	}
	return backoff(rounds, h.rand.Float64())
}

// backoff is the pause after so many failed rounds; spread is from [0,1).
func backoff(rounds int, spread float64) time.Duration {
	if rounds == 0 {
		return 0
	}
	full := lastPause
	if rounds < 8 { // 10 ms * 2^7 is more than 1 s
		full = min(firstPause<<(rounds-1), lastPause)
	}
	return full/2 + time.Duration(spread*float64(full/2))
}

// dial is the library's Dialer. It is the one way to a server, so a session that is over never gets another connection.
func (s *Session) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	lib.WithMaxBufferSize(firstBuffer)(s.conn) // the library's reader has ended, the next one makes its buffer by this
	if sleep.For(s.dialing, s.hosts.pause()) != nil {
		return nil, errOver
	}
	ctx, cancel := context.WithTimeout(s.dialing, timeout)
	defer cancel()
	c, err := s.connect(ctx, network, address)
	if err != nil {
		s.refused.Store(&err)
		return nil, err
	}
	c.SetDeadline(time.Now().Add(s.asked / time.Duration(len(s.hosts.servers))))
	l := &link{Conn: c, s: s, server: address, wire: wire{z: &s.zxids}}
	l.wire.answered = l.answered
	if !s.use(l) {
		c.Close()
		return nil, errOver
	}
	return l, nil
}

var errOver = errors.New("the session is over")
