package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/bench/outcome"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/zk"
)

// pulse counts a write that is repeated every second if a fault may take down the servers: the znode version in its answer must never fall.
type pulse struct {
	beats, version, lost int
}

// betweenBeats is the time between two beats.
const betweenBeats = time.Second

// mayLose reports whether the run tests the servers for losing acknowledged writes.
func (c *Cell) mayLose() bool {
	return len(c.Profile.Faults) > 0 && len(c.target.Ensemble.Addresses()) > 1 && c.run.Share.Whole()
}

// beat starts the pulse and returns a function that ends it.
func (c *Cell) beat(ctx context.Context) (end func()) {
	if !c.mayLose() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		var s zk.Session
		for sleep.For(ctx, betweenBeats) == nil {
			s = c.feel(ctx, s)
		}
		if s != nil {
			s.Close()
		}
	})
	return func() { cancel(); all.Wait() }
}

// feel makes one beat on its own session, and returns the session for the next beat.
func (c *Cell) feel(ctx context.Context, s zk.Session) zk.Session {
	if s != nil && s.Err() != nil {
		s.Close()
		s = nil
	}
	if s == nil {
		var err error
		if s, err = c.target.Dial(ctx, c.target.Ensemble.Addresses(), c.Profile.Seed); err != nil {
			return nil
		}
	}
	if version, err := c.target.Home.Beat(ctx, s); err == nil {
		c.pulse.see(int(version))
	}
	return s
}

func (p *pulse) see(version int) {
	p.beats++
	if version <= p.version {
		p.lost += p.version + 1 - version
	}
	p.version = version
}

// looksAtServers is how often the servers must differ before they count as disagreeing: a change that is still being replicated differs once.
const looksAtServers = 3

// replica is an ephemeral znode that a server lacks.
type replica struct {
	czxid int64
	lacks string
}

// compareServers looks for what the servers have lost, while the sessions are still open. It leaves out servers that do not answer.
func (c *Cell) compareServers(ctx context.Context) {
	if !c.mayLose() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.Profile.SessionTimeout+EndTimeout)
	defer cancel()
	if s := c.feel(ctx, nil); s != nil {
		s.Close()
	}
	if p := c.pulse; p.lost > 0 {
		c.disagreement = &outcome.Disagreement{Compared: p.beats, Lost: p.lost, Text: fmt.Sprintf("the servers have lost %d of %d acknowledged writes that this run made beside its load", p.lost, p.beats)}
		return
	}
	addresses := c.target.Ensemble.Addresses()
	var lacking map[replica]string // the server that has it
	compared := 0
	for look := range looksAtServers {
		if look > 0 && sleep.For(ctx, betweenTries) != nil {
			return
		}
		trees := map[string]map[int64]bool{}
		for _, address := range addresses {
			if tree, err := c.ephemerals(ctx, address); err == nil {
				trees[address], compared = tree, max(compared, len(tree))
			}
		}
		now := map[replica]string{}
		for has, tree := range trees {
			for czxid := range tree {
				for lacks, other := range trees {
					r := replica{czxid, lacks}
					if _, before := lacking[r]; !other[czxid] && (look == 0 || before) {
						now[r] = has
					}
				}
			}
		}
		if lacking = now; len(lacking) == 0 {
			return
		}
	}
	pairs := map[[2]string]int{}
	for r, has := range lacking {
		pairs[[2]string{has, r.lacks}]++
	}
	var worst [2]string
	for servers, n := range pairs {
		if m := pairs[worst]; n > m || n == m && servers[0]+servers[1] < worst[0]+worst[1] {
			worst = servers
		}
	}
	n := pairs[worst]
	c.disagreement = &outcome.Disagreement{Compared: max(compared, n), Lost: n, Text: fmt.Sprintf("the servers disagree: %s has %s that %s lacks, though both have applied all that was acknowledged",
		worst[0], phrase.Count(n, "ephemeral znode"), worst[1])}
}

// ephemerals returns the transactions that created the ephemeral znodes of the cell, as seen by one server that has caught up.
func (c *Cell) ephemerals(ctx context.Context, address string) (created map[int64]bool, err error) {
	s, err := c.target.Dial(ctx, []string{address}, c.Profile.Seed)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := zk.CatchUp(ctx, s, c.dir); err != nil {
		return nil, err
	}
	created = map[int64]bool{}
	return created, zk.Ephemerals(ctx, s, c.dir, nil, func(st zk.Stat) { created[st.Czxid] = true })
}
