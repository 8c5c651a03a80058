package published

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/zk"
)

// sites is how many sites a transaction has, and inTime how long each waits for the votes of the others: long beside the steps of a script.
const (
	sites  = 3
	inTime = 4 * time.Second
)

// site is a client of a two-phase commit.
type site struct {
	*handle
	commit  recipes.Commit
	decides *attempt
	commits bool // what it has decided
}

// site adds a site of the transaction, by its number.
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
	if !p.t.over() {
		p.t.fail(p.commit.Propose(p.t.ctx, nil))
	}
}

func (p *site) learns() {
	if !p.t.over() {
		_, err := p.commit.Learn(p.t.ctx)
		p.t.fail(err)
	}
}

// votes casts a vote; a site that cannot, though it has learnt of the transaction, will never see it decided.
func (p *site) votes(commit bool) {
	if p.t.over() {
		return
	}
	if err := p.commit.Vote(p.t.ctx, commit); err != nil {
		p.t.found(Liveness, "nobody can decide: %s has learnt of the transaction and cannot vote: %v; listed: %s", p.name, err,
			p.t.listed(p.path))
	}
}

// asks begins to decide.
func (p *site) asks() {
	if !p.t.over() {
		p.decides = p.begin(func(ctx context.Context) (err error) { p.commits, err = p.commit.Decide(ctx); return })
	}
}

// decided waits until all that have asked have decided; the time-out of each is the longest that this takes.
func (t *trial) decided(all ...*site) {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	for _, p := range all {
		if t.over() {
			return
		}
		select {
		case <-p.decides.done:
		case <-ctx.Done():
			t.found(Liveness, "%s does not decide", p.name)
		}
	}
	t.look()
}

// judgeSites judges what the sites of a transaction have decided.
func (t *trial) judgeSites() {
	var told []string
	var decisions []bool
	for _, p := range t.sites {
		switch {
		case p.decides == nil || !p.decides.over() || p.gone.Load():
		case p.decides.err != nil:
			t.found(Liveness, "%s cannot decide: %v", p.name, p.decides.err)
		default:
			told = append(told, p.name+map[bool]string{true: " commits", false: " aborts"}[p.commits])
			decisions = append(decisions, p.commits)
		}
	}
	if slices.Contains(decisions, true) && slices.Contains(decisions, false) {
		t.found(Atomicity, "the sites of one transaction decide differently: %s; listed: %s", strings.Join(told, ", "),
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
	if !t.over() && !all[0].commits {
		t.fail(fmt.Errorf("%w: not all votes came in time", errNotStaged))
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
	third.votes(true) // and crashes
	second.votes(true)
	first.votes(true)
	first.asks()
	t.decided(first)
	back := t.site("third, back again", 3)
	back.learns()
	if !t.over() {
		back.commit.Vote(t.ctx, false) // sound ones refuse
	}
	second.asks()
	back.asks()
	t.decided(second, back)
}

func proposerDies(t *trial) {
	first, second, third := t.site("first", 1), t.site("second", 2), t.site("third", 3)
	first.at(recipes.PauseCreated, first.expire)
	first.at(recipes.PauseProposed, first.expire)
	if !t.over() {
		first.commit.Propose(t.ctx, nil)
	}
	for _, p := range []*site{second, third} {
		p.learns()
		p.votes(true)
		p.asks()
	}
	t.decided(second, third)
}
