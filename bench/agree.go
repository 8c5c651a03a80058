package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// serversAgree is the check that is in a result only if it is violated: servers that have lost acknowledged writes, or replicas that differ for good.
const serversAgree = "servers-agree"

// disagreement is what servers have lost that they had acknowledged: beats, or what one has below a cell and another one lacks, though both have applied
// everything. Servers that die while they synchronize may do that (ZOOKEEPER-4712, ZOOKEEPER-4785; docs/findings.md). Then sessions hang, and znodes
// are left or missing, whatever the recipe does.
type disagreement struct {
	compared int // beats, or ephemeral znodes
	lost     int
	what     string
}

// pulse is a write that a run whose servers a fault may take down repeats every second, because its answer has a version, which never falls.
type pulse struct {
	beats, version, lost int
}

// betweenBeats is the time from one beat to the next.
const betweenBeats = time.Second

// mayLose reports whether the servers are put to the test of losing what they have acknowledged.
func (c *cell) mayLose() bool {
	return len(c.profile.Faults) > 0 && len(c.Ensemble.Addresses()) > 1 && c.Share.Whole()
}

// beat begins the pulse; the function that it returns ends it.
func (c *cell) beat(ctx context.Context) (end func()) {
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

// feel is one beat, on a session of its own. It returns the session for the next one.
func (c *cell) feel(ctx context.Context, s zk.Session) zk.Session {
	if s != nil && s.Err() != nil {
		s.Close()
		s = nil
	}
	if s == nil {
		var err error
		if s, err = c.dial(ctx, c.Ensemble.Addresses(), c.profile.Seed); err != nil {
			return nil
		}
	}
	if version, err := c.home.Beat(ctx, s); err == nil {
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

// looksAtServers is how often the servers are compared before they disagree: what is on its way differs once.
const looksAtServers = 3

// replica is an ephemeral znode that a server lacks.
type replica struct {
	czxid int64
	lacks string
}

// compareServers looks for what the servers have lost, while the sessions are still open. A server that does not answer is left out.
func (c *cell) compareServers(ctx context.Context) {
	if !c.mayLose() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.profile.SessionTimeout+grace)
	defer cancel()
	if s := c.feel(ctx, nil); s != nil {
		s.Close()
	}
	if p := c.pulse; p.lost > 0 {
		c.disagreement = &disagreement{p.beats, p.lost, fmt.Sprintf("the servers have lost %d of %d acknowledged writes that this run made beside its load", p.lost, p.beats)}
		return
	}
	addresses := c.Ensemble.Addresses()
	var lacking map[replica]string // who has it
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
	c.disagreement = &disagreement{max(compared, n), n, fmt.Sprintf("the servers disagree: %s has %s that %s lacks, though both have applied all that was acknowledged",
		worst[0], phrase.Count(n, "ephemeral znode"), worst[1])}
}

// ephemerals are the transactions that created the ephemeral znodes of the cell, as one server knows them when it has caught up.
func (c *cell) ephemerals(ctx context.Context, address string) (created map[int64]bool, err error) {
	s, err := c.dial(ctx, []string{address}, c.profile.Seed)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if err := zk.CatchUp(ctx, s, c.dir(c.number)); err != nil {
		return nil, err
	}
	created = map[int64]bool{}
	return created, zk.Ephemerals(ctx, s, c.dir(c.number), nil, func(st zk.Stat) { created[st.Czxid] = true })
}

// excused is a verdict on a recipe whose servers disagree: what it would be a violation of may be their doing.
func (c *cell) excused(v check.Verdict) check.Verdict {
	if c.disagreement == nil || v.Answer != check.Violated {
		return v
	}
	return check.Verdict{Evidence: v.Evidence, Detail: c.disagreement.what + ": " + v.Detail}
}

// agreement is the check of the servers themselves: none if they agree.
func (c *cell) agreement() []results.Check {
	d := c.disagreement
	if d == nil {
		return nil
	}
	return []results.Check{{Name: serversAgree, Verdict: check.Violated.String(), Evidence: d.compared, Count: d.lost, Detail: d.what + ", which is no recipe's fault"}}
}
