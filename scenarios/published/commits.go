package published

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/zk"
)

// sites is the number of sites of a transaction; inTime is how long each waits for the votes of the others, which is long compared with the steps of a script.
const (
	sites  = 3
	inTime = 4 * time.Second
)

// site is a client of a two-phase commit.
type site struct {
	*handle
	commit  recipes.Commit
	decides *scenarios.Attempt
	commits bool // its decision
}

// site adds a site of the transaction with a number.
func (t *trial) site(name string, number int) *site {
	p := &site{handle: t.handle(name, t.dir+"/transaction", nil)}
	t.with(p.handle, func(s zk.Session, o recipes.Options) {
		o.Members, o.Site, o.Deadline = sites, number, inTime
		p.commit = t.subject.commit(s, p.path, o)
		t.sites = append(t.sites, p)
	})
	return p
}

func (p *site) proposes() {
	if !p.t.Over() {
		p.t.Fail(p.commit.Propose(p.t.Context(), nil))
	}
}

func (p *site) learns() {
	if !p.t.Over() {
		_, err := p.commit.Learn(p.t.Context())
		p.t.Fail(err)
	}
}

// votes casts a vote; a site that cannot vote although it knows of the transaction will never see it decided.
func (p *site) votes(commit bool) {
	if p.t.Over() {
		return
	}
	if err := p.commit.Vote(p.t.Context(), commit); err != nil {
		p.t.Found(Liveness, "nobody can decide: %s has learnt of the transaction and cannot vote: %v; listed: %s", p.name, err,
			p.t.listed(p.path))
	}
}

// asks starts to decide.
func (p *site) asks() {
	if !p.t.Over() {
		p.decides = p.begin(func(ctx context.Context) (err error) { p.commits, err = p.commit.Decide(ctx); return })
	}
}

// decided waits until all sites that have asked have decided, which takes at most the time-out of each.
func (t *trial) decided(all ...*site) {
	ctx, cancel := context.WithTimeout(t.Context(), scenarios.StepTimeout)
	defer cancel()
	for _, p := range all {
		if t.Over() {
			return
		}
		select {
		case <-p.decides.Done:
		case <-ctx.Done():
			t.Found(Liveness, "%s does not decide", p.name)
		}
	}
	t.look()
}

// judgeSites judges the decisions of the sites of a transaction.
func (t *trial) judgeSites() {
	var notified []string
	var decisions []bool
	for _, p := range t.sites {
		switch {
		case p.decides == nil || !p.decides.Over() || p.gone.Load():
		case p.decides.Err != nil:
			t.Found(Liveness, "%s cannot decide: %v", p.name, p.decides.Err)
		default:
			notified = append(notified, p.name+map[bool]string{true: " commits", false: " aborts"}[p.commits])
			decisions = append(decisions, p.commits)
		}
	}
	if slices.Contains(decisions, true) && slices.Contains(decisions, false) {
		t.Found(Atomicity, "the sites of one transaction decide differently: %s; listed: %s", strings.Join(notified, ", "),
			t.listed(t.dir+"/transaction"))
	}
}

func allVote(t *trial) {
	all := []*site{t.site("first", 1), t.site("second", 2), t.site("third", 3)}
	all[0].proposes()
	for _, p := range all[1:] {
		p.learns()
	}
	for _, p := range all {
		p.votes(true)
		p.asks()
	}
	t.decided(all...)
	if !t.Over() && !all[0].commits {
		t.Fail(scenarios.NotStaged("not all votes came in time"))
	}
}

func lateVote(t *trial) {
	first, second, third := t.site("first", 1), t.site("second", 2), t.site("third", 3)
	first.proposes()
	first.votes(true)
	first.asks()
	t.decided(first)
	for _, p := range []*site{second, third} {
		p.learns()
		p.votes(true)
		p.asks()
	}
	t.decided(second, third)
}

func voteChanged(t *trial) {
	first, second, third := t.site("first", 1), t.site("second", 2), t.site("third", 3)
	first.proposes()
	second.learns()
	third.learns()
	third.votes(true) // and then it crashes
	second.votes(true)
	first.votes(true)
	first.asks()
	t.decided(first)
	back := t.site("third, back again", 3)
	back.learns()
	if !t.Over() {
		back.commit.Vote(t.Context(), false) // sound recipes refuse
	}
	second.asks()
	back.asks()
	t.decided(second, back)
}

func proposerDies(t *trial) {
	first, second, third := t.site("first", 1), t.site("second", 2), t.site("third", 3)
	first.at(recipes.PauseCreated, first.expire)
	first.at(recipes.PauseProposed, first.expire)
	if !t.Over() {
		first.commit.Propose(t.Context(), nil)
	}
	for _, p := range []*site{second, third} {
		p.learns()
		p.votes(true)
		p.asks()
	}
	t.decided(second, third)
}
