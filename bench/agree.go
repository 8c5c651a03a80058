package bench

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/check"
	"github.com/zkbench/zkbench/internal/phrase"
	"github.com/zkbench/zkbench/internal/sleep"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/zk"
)

// serversAgree is the check that is in a result only if it is violated: replicas that differ for good.
const serversAgree = "servers-agree"

// disagreement is what one server has below a cell and another one lacks, though both have applied everything that was acknowledged. Servers that die while they
// synchronize may lose acknowledged transactions (ZOOKEEPER-4712, ZOOKEEPER-4785; docs/findings.md). Then sessions hang, and znodes are left or
// missing, whatever the recipe does.
type disagreement struct {
	compared int // ephemeral znodes
	znodes   int // those that a server lacks
	has      string
	lacks    string
}

func (d *disagreement) String() string {
	return fmt.Sprintf("the servers disagree: %s has %s that %s lacks, though both have applied all that was acknowledged", d.has, phrase.Count(d.znodes, "ephemeral znode"), d.lacks)
}

// looksAtServers is how often the servers are compared before they disagree: what is on its way differs once.
const looksAtServers = 3

// replica is an ephemeral znode that a server lacks.
type replica struct {
	czxid int64
	lacks string
}

// compareServers compares the servers after faults of theirs, and after elections, while the sessions are still open. A server that does not answer is left out.
func (c *cell) compareServers(ctx context.Context) {
	addresses := c.Ensemble.Addresses()
	if len(addresses) < 2 || !c.Share.Whole() || !c.faults.Started() && len(c.lostLeaders()) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.profile.SessionTimeout+grace)
	defer cancel()
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
	between := map[[2]string]int{}
	for r, has := range lacking {
		between[[2]string{has, r.lacks}]++
	}
	d := &disagreement{compared: compared}
	for servers, n := range between {
		if n > d.znodes || n == d.znodes && servers[0]+servers[1] < d.has+d.lacks {
			d.znodes, d.has, d.lacks = n, servers[0], servers[1]
		}
	}
	c.disagreement = d
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
	return check.Verdict{Evidence: v.Evidence, Detail: fmt.Sprintf("%v: %s", c.disagreement, v.Detail)}
}

// agreement is the check of the servers themselves: none if they agree.
func (c *cell) agreement() []results.Check {
	d := c.disagreement
	if d == nil {
		return nil
	}
	return []results.Check{{Name: serversAgree, Verdict: check.Violated.String(), Evidence: max(d.compared, d.znodes), Count: d.znodes,
		Detail: fmt.Sprintf("%v: acknowledged transactions are lost, which is no recipe's fault", d)}}
}
