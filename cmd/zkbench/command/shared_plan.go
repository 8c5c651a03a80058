package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/capacity"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
)

// sharedPlan is this share's part in a plan whose loads all shares carry out together: a search or a comparison. The lowest share decides on each load, sends the
// order and merges the results that the others send back. Each load is a run with a separate meeting, below the meeting of the plan.
type sharedPlan struct {
	a           *app
	s           *signals
	meet        fleet.Config // of the plan
	meeting     *fleet.Meeting
	out         string // directory of the plan
	allowShared bool
	loads       int // number of loads so far
	look        func(load.Update)
	tell        func(format string, args ...any)
	over        chan struct{}
}

// order tells the other shares what to do next. The lowest share sends it.
type order struct {
	Dir      string          `json:"dir,omitempty"` // of the load, relative to that of the plan
	Profile  string          `json:"profile,omitempty"`
	Root     string          `json:"root,omitempty"`
	Side     int             `json:"side,omitempty"`
	Blocks   *blocksOrder    `json:"blocks,omitempty"`
	Said     string          `json:"said,omitempty"`
	Document json.RawMessage `json:"document,omitempty"` // result of the plan, which is done
	SHA256   string          `json:"sha256,omitempty"`   // of the answer in the document
}

type blocksOrder struct {
	Length time.Duration `json:"length_ns"`
	Max    int           `json:"max"`
	Limits []load.Limit  `json:"limits"`
}

// The places of a plan on the coordinator, each with the number of a load below it.
const (
	atOrders  = "orders"  // the orders of the lowest share
	atLoads   = "loads"   // the meeting of each load
	atBlocks  = "blocks"  // in a load's meeting: what a share counted in each block
	atEnough  = "enough"  // in a load's meeting: whether these blocks are enough
	atCounted = "counted" // the blocks of a share, once all work has ended
	atSent    = "sent"    // the directory of a share
)

// mostCarried is the largest history of a share, in bytes, that is sent through the coordinator: about five million samples.
const mostCarried = 64 << 20

// newSharedPlan meets the other shares of a plan, whose results are in the directory out. It returns nil if there are none. The caller calls finish.
func (a *app) newSharedPlan(s *signals, f fleetFlags, plan fleet.Plan, out string, shown *watcher, of ...profiles.Profile) (*sharedPlan, error) {
	if !f.on() {
		return nil, nil
	}
	cfg, err := a.meetingOf(s.starting, f, of[0])
	if err != nil {
		return nil, err
	}
	for _, p := range of {
		resolved, err := profiles.Marshal(p)
		if err != nil {
			return nil, err
		}
		plan.Profile += string(resolved)
	}
	plan.Run = filepath.Base(out)
	cfg.Plan, cfg.Tell = plan, func(message string) { shown.tell("%s", message) }
	c, err := a.sharedPlanAt(s, cfg)
	if err == nil {
		c.out, c.allowShared, c.look, c.tell = out, f.allowShared, shown.update, shown.tell
	}
	return c, err
}

// sharedPlanAt meets the other shares as cfg says.
func (a *app) sharedPlanAt(s *signals, cfg fleet.Config) (*sharedPlan, error) {
	cfg.Plan.Shares, cfg.Plan.Version, cfg.Plan.Nonce = max(cfg.Share.Count, 1), versionText(), rand.Text()
	m, err := fleet.Join(s.starting, cfg)
	if err != nil {
		return nil, err
	}
	c := &sharedPlan{a: a, s: s, meet: cfg, meeting: m, over: make(chan struct{})}
	go func() {
		select {
		case <-s.stop:
			m.Stop(s.working, fleet.Interrupt, "interrupted")
		case <-c.over:
		}
	}()
	if err := m.Await(s.working, 0, "begun"); err != nil { // from here on no share can join
		c.finish(nil, results.Exit{}, err)
		return nil, err
	}
	return c, nil
}

// leads reports whether this share plans. A nil plan belongs to a process without other shares.
func (c *sharedPlan) leads() bool { return c == nil || c.meet.Share.Lowest() }

// record carries out a load, together with the other shares if there are any.
func (c *sharedPlan) record(a *app, s *signals, l recorded) (*results.Run, error) {
	if c == nil {
		return a.record(s.working, s, l)
	}
	return c.lead(l)
}

// lead lets all shares carry out a load and merges what they measured. If that fails, it returns the result of this share.
func (c *sharedPlan) lead(l recorded) (*results.Run, error) {
	ctx := c.s.working
	resolved, err := profiles.Marshal(l.profile)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Rel(c.out, l.path)
	if err != nil {
		return nil, err
	}
	o := order{Dir: filepath.ToSlash(dir), Profile: string(resolved), Root: l.root, Side: l.side, Said: l.said}
	if b := l.blocks; b != nil {
		o.Blocks = &blocksOrder{b.Length, b.Max, b.Limits}
	}
	c.loads++
	if err := c.send(ctx, o, atOrders, c.loads); err != nil {
		return nil, err
	}
	own, err := c.carry(l)
	if err != nil {
		return own, err
	}
	if b := l.blocks; b != nil {
		var parts [][]capacity.Block
		for _, n := range c.others() {
			var part []capacity.Block
			if err := c.receive(ctx, &part, atCounted, c.loads, n); err != nil {
				return own, err
			}
			parts = append(parts, part)
		}
		b.Counted = capacity.Together(b.Counted, parts...)
	}
	merged, err := c.merge(ctx, l)
	if err != nil {
		return own, err
	}
	return merged, nil
}

// others returns the numbers of the shares that follow.
func (c *sharedPlan) others() (all []int) {
	for n := 2; n <= c.meet.Share.Count; n++ {
		all = append(all, n)
	}
	return all
}

// ownPath returns the directory of a load as this share measured it.
func (c *sharedPlan) ownPath(path string) string {
	return fmt.Sprintf("%s-share-%d", path, c.meet.Share.Number())
}

// carry carries out this share of a load, in a separate meeting that ends when it returns.
func (c *sharedPlan) carry(l recorded) (*results.Run, error) {
	ctx, end := c.meeting.While(c.s.working)
	defer end()
	resolved, err := profiles.Marshal(l.profile)
	if err != nil {
		return nil, err
	}
	name := runName(l.profile.Name, time.Now())
	cfg := c.meet
	cfg.Path, cfg.Tell, cfg.RootChosen = fmt.Sprintf("%s/%s/%d", c.meet.Path, atLoads, c.loads), nil, l.root != ""
	cfg.Plan = fleet.Plan{Shares: c.meet.Plan.Shares, Version: c.meet.Plan.Version, Seed: l.profile.Seed, Servers: slices.Clone(l.ensemble.Addresses()), Profile: string(resolved),
		Root: cmp.Or(l.root, root.DefaultBase+"/"+name), Run: name, Nonce: rand.Text()}
	m, err := fleet.Join(ctx, cfg)
	if err != nil {
		return nil, cmp.Or(c.meeting.Err(), err)
	}
	defer m.Close()
	if c.leads() { // all shares are done with the previous load
		for _, place := range []string{atOrders, atLoads, atCounted, atSent} {
			c.meeting.Forget(ctx, place, c.loads-1)
		}
	}
	if l.blocks != nil {
		l.blocks.Enough = c.together(m, l.blocks)
	}
	l.path, l.share, l.meeting, l.allowShared = c.ownPath(l.path), c.meet.Share, m, c.allowShared
	return c.a.record(c.s.working, c.s, l)
}

// together returns a function with which the lowest share decides, by the blocks of all shares, whether they are enough. If the shares have lost each other,
// the load continues to its end.
func (c *sharedPlan) together(m *fleet.Meeting, b *load.Blocks) func([]capacity.Block) bool {
	ctx, enough := c.s.working, b.Enough
	var all []capacity.Block
	lead := func(k int, own capacity.Block) (yes bool, err error) {
		var parts [][]capacity.Block
		for _, n := range c.others() {
			part := make([]capacity.Block, 1)
			if err := receive(ctx, m, &part[0], atBlocks, k, n); err != nil {
				return false, err
			}
			parts = append(parts, part)
		}
		all = append(all, capacity.Together([]capacity.Block{own}, parts...)...)
		yes = enough(all)
		return yes, send(ctx, m, yes, atEnough, k)
	}
	follow := func(k int, own capacity.Block) (yes bool, err error) {
		if err := send(ctx, m, own, atBlocks, k, c.meet.Share.Number()); err != nil {
			return false, err
		}
		return yes, receive(ctx, m, &yes, atEnough, k)
	}
	return func(own []capacity.Block) bool {
		decide, k := follow, len(own)
		if c.leads() {
			decide = lead
		}
		yes, err := decide(k, own[k-1])
		if err == nil {
			return yes
		}
		if m.Err() == nil {
			m.Stop(ctx, fleet.Failure, err.Error())
		}
		return k >= b.Max
	}
}

// merge merges what all shares measured of a load into one result, as 'zkbench merge' does. It keeps the directories of the other shares only until then.
func (c *sharedPlan) merge(ctx context.Context, l recorded) (*results.Run, error) {
	beside, err := os.MkdirTemp(c.out, ".shares-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(beside)
	dirs := []string{c.ownPath(l.path)}
	for _, n := range c.others() {
		data, err := c.meeting.Receive(ctx, atSent, c.loads, n)
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(beside, fmt.Sprint("share-", n))
		if err := unpacked(data, dir); err != nil {
			return nil, fmt.Errorf("what share %d sent: %w", n, err)
		}
		dirs = append(dirs, dir)
	}
	shares, _, err := results.ReadShares(dirs, false)
	if err != nil {
		return nil, err
	}
	dir, err := results.Create(l.path, []byte(shares[0].Profile))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	doc, err := bench.Merge(ctx, bench.Merged{Config: bench.Config{Setup: c.a.setup, Profile: l.profile, Version: versionText(), Out: dir}, Shares: shares})
	if err != nil {
		return nil, errors.Join(err, dir.Discard())
	}
	return doc, dir.Close()
}

// follow carries out what the lowest share plans, on the ensembles of the sides, until the plan is done, and reads its result into the document. It returns
// an error if the answer here differs from the answer of the lowest share.
func (c *sharedPlan) follow(document any, sides ...ensemble.Ensemble) error {
	for {
		var o order
		c.loads++
		if err := c.receive(c.s.working, &o, atOrders, c.loads); err != nil {
			return err
		}
		if o.Document == nil {
			if err := c.carryOut(o, sides); err != nil {
				return err
			}
			continue
		}
		if err := json.Unmarshal(o.Document, document); err != nil {
			return err
		}
		if here, err := answerSum(document); err != nil || here != o.SHA256 {
			return errors.Join(err, fmt.Errorf("the answer from share 1 is damaged: SHA-256 %s there, %s here", o.SHA256, here))
		}
		return nil
	}
}

// carryOut carries out this share of an order and sends what it measured.
func (c *sharedPlan) carryOut(o order, sides []ensemble.Ensemble) error {
	p, err := c.a.setup.Catalogue().Parse("the load of the plan", []byte(o.Profile))
	if err != nil {
		return err
	}
	dir := filepath.FromSlash(o.Dir)
	if !filepath.IsLocal(dir) || o.Side < 0 || o.Side >= len(sides) {
		return fmt.Errorf("order %d: the directory %q of side %d is not in this plan", c.loads, o.Dir, o.Side)
	}
	l := recorded{profile: p, path: filepath.Join(c.out, dir), root: o.Root, ensemble: sides[o.Side], side: o.Side, look: c.look}
	if b := o.Blocks; b != nil {
		l.blocks = &load.Blocks{Length: b.Length, Max: b.Max, Limits: b.Limits}
	}
	c.tell("%s", o.Said)
	ctx := c.s.working
	if _, err := c.carry(l); err != nil {
		return err
	}
	n := c.meet.Share.Number()
	if l.blocks != nil {
		if err := c.send(ctx, l.blocks.Counted, atCounted, c.loads, n); err != nil {
			return err
		}
	}
	data, err := packedBytes(c.ownPath(l.path))
	if err != nil {
		return err
	}
	return c.meeting.Send(ctx, data, atSent, c.loads, n)
}

func (c *sharedPlan) send(ctx context.Context, what any, at ...any) error {
	return send(ctx, c.meeting, what, at...)
}

func (c *sharedPlan) receive(ctx context.Context, into any, at ...any) error {
	return receive(ctx, c.meeting, into, at...)
}

// send sends a value, encoded as JSON.
func send(ctx context.Context, m *fleet.Meeting, what any, at ...any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	return m.Send(ctx, text, at...)
}

func receive(ctx context.Context, m *fleet.Meeting, into any, at ...any) error {
	text, err := m.Receive(ctx, at...)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
