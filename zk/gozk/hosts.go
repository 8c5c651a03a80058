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

// The pause before a round of attempts, after n failed rounds, is 10 ms * 2^(n-1), at most 1 s; the second half of it is random, from the seed.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// hosts determines the order in which the library tries the servers. The library calls it from its connecting goroutine.
type hosts struct {
	s       *Session
	servers []string
	rand    *rand.Rand
	next    int
	tries   int // attempts since the last successful handshake
}

func newHosts(s *Session, servers []string, seed uint64) *hosts {
	h := &hosts{s: s, servers: slices.Clone(servers), rand: rand.New(rand.NewPCG(seed, 0))}
	h.rand.Shuffle(len(servers), func(i, j int) { h.servers[i], h.servers[j] = h.servers[j], h.servers[i] })
	return h
}

// Init ignores the library's list, which is shuffled without a seed.
func (h *hosts) Init([]string) error { return nil }

// Len returns the number of servers.
func (h *hosts) Len() int { return len(h.servers) }

// Next returns the next server. If its bool is true, the library fails all waiting requests with ErrNoServer, and sleeps for a second or until it is
// closed: that is wanted only once the session has ended.
func (h *hosts) Next() (string, bool) {
	server := h.servers[h.next]
	h.next = (h.next + 1) % len(h.servers)
	return server, h.s.Err() != nil
}

// Connected is called after each successful handshake.
func (h *hosts) Connected() { h.tries = 0 }

// pause returns how long to wait before the next attempt: zero within a round.
func (h *hosts) pause() time.Duration {
	rounds, within := h.tries/len(h.servers), h.tries%len(h.servers)
	h.tries++
	if within > 0 {
		return 0
	}
	return backoff(rounds, h.rand.Float64())
}

// backoff returns the pause after this many failed rounds; spread is in [0,1).
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

// dial is the library's Dialer. Every connection is made through it, so a session that has ended never gets another one.
func (s *Session) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	lib.WithMaxBufferSize(firstBuffer)(s.conn) // the library's reader has stopped; the next one makes its buffer with this size
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
